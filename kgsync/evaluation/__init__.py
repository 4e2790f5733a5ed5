"""Evaluation: link prediction, triple classification and stability.

In: a model and triples as rows. Out: metrics with their standard errors. May import: graph, models,
common, errors.
"""
