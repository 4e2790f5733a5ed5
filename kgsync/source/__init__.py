"""Which graph version is next, whether it is complete, and what it changed."""
