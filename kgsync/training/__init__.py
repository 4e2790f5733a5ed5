"""Training from scratch and updating.

In: a `Reading` and, for an update, the committed version. Out: a `Trained` model with its report.
May import: graph, models, evaluation, common, errors.
"""
