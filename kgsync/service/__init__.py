"""A sync that runs for long: schedule, pauses, guards, status.

In comes whatever satisfies `ScheduledSync`; out go runs at their times, and events for whoever
listens. May import all rooms before it on the line, but neither config nor the sync itself.
"""
