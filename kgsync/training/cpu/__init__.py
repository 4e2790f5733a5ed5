"""The CPU backend: fused kernels, compiled by numba, that work on torch's own memory."""
