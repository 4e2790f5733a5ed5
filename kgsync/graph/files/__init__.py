"""Bytes and files of RDF syntaxes, and the table of versions beside them."""
