"""A SPARQL endpoint."""
