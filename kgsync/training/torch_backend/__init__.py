"""The torch backend: the reference for the kernels, and any device."""
