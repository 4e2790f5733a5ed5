"""Committed versions on disk: transaction, manifest, sidecar files, history, current pointer.

In come a reading and the tables that were learned from it; out go committed versions, as tables,
never as models, and reports of the steps that made them. May import: graph, common.
"""
