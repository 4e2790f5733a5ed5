"""Updates that cost what changed: which rows a change concerns, and the pairs they learn from."""
