"""Evaluation: link prediction, triple classification, stability, what was learned and forgotten.

In: a model and triples as rows. Out: metrics with their standard errors. May import: graph, models,
common, errors.
"""
