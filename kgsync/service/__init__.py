"""Long-running syncs: schedule, pauses, guards, status.

In: any object that satisfies `ScheduledSync`. Out: runs on schedule, and events for listeners. May
import: graph, models, evaluation, training, state, source, publish, queries, vectors, common,
errors; neither config nor sync.
"""
