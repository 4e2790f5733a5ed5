"""Committed versions on disk: transaction, manifest, sidecar files, history, current pointer.

In: a reading and the tables learned from it. Out: committed versions, as tables and never as
models, and the reports of their steps. May import: graph, common, errors.
"""
