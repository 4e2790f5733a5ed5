"""The response formats of endpoints: CSV, JSON, XML and N-Triples."""
