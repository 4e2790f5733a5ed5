"""Guards: what a new version has to meet before it becomes the current one, one file each.

A guard satisfies `kgsync.state.transaction.Requirement`. A step names those it uses.
"""
