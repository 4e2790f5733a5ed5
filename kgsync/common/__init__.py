"""What every room may use: files, locks, durations, random streams, memory, counters, progress."""
