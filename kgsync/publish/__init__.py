"""Metadata and vectors written into stores."""
