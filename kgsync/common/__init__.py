"""Helpers that every room may use.

Durable files, locks, the retry policy, durations, random streams, memory, cost counters, events,
compiled kernels, and the helper by which rooms declare their settings.

In and out: plain values, no data of other rooms. May import: errors.
"""
