"""Which graph version is next, whether it is complete, and what it changed.

In come an open store and the committed version; out goes a reading. What has to be remembered goes
through `Notes`, which the state implements. May import: graph, common.
"""
