"""The metadata graph: descriptions of all versions, the vocabulary and the SHACL shapes."""
