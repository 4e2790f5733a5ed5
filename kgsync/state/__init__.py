"""Committed versions on disk."""
