"""Vectors as RDF literals."""
