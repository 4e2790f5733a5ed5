"""Vectors as RDF literals in named graphs of the store."""
