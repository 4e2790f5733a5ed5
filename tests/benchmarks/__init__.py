"""Benchmarks: `make bench`. They print what they measure and never fail on a timing."""
