"""Snapshots: build graph versions from raw data sets and load them into a store.

In: edge lists, dumps or change files. Out: one named graph per version, with its metadata. May
import: graph, queries, common, errors.
"""
