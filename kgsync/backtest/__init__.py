"""Backtests: compare update strategies, retraining and a frozen baseline over a history.

In: a store with several versions, and settings. Out: a folder of records, a summary and figures.
May import: every room below `sync`, common, errors.
"""
