"""RDF files: dumps, changes and patches."""
