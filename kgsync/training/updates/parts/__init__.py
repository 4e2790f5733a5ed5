"""What updates are made of: the rows that a change concerns, and the pairs they learn from."""
