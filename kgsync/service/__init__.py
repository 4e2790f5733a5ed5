"""The scheduled sync: schedule, pauses, status."""
