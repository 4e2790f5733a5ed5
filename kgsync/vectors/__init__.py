"""Reading committed vectors: neighbours, predictions, scores, export, queries with functions.

In: the sidecar files of a version, or a version in a state. Out: `Embeddings`, query results,
files for other tools. May import: graph, models, state, publish, queries, common, errors. Torch and
numba are not imported before a score is computed.
"""
