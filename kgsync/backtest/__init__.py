"""Backtests: what updating, recalculating and leaving alone would have done over a history."""
