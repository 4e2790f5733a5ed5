"""Backtests: compare updating, retraining and a frozen baseline over the history of a graph.

In: a store with several versions, and settings. Out: a folder of records, a summary and figures.
May import: every room below `sync`, common, errors.
"""
