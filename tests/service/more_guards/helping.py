"""A file beside the guards that is none, but may help them."""
