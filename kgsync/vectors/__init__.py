"""Reading committed vectors: neighbours, predictions, scores, export, queries with functions.

In: the sidecar files of a version, or a version in a state. Out: `Embeddings`, tables of answers,
files of other tools. May import: graph, models, state, publish, queries, common, errors. Nothing
here imports torch or numba before a score is asked for.
"""
