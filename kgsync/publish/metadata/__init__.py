"""The metadata graph: what is said about every version, its vocabulary and shapes."""
