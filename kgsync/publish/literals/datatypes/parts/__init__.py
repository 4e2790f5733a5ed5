"""Code that several datatypes share."""
