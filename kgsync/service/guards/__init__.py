"""Guards: conditions that a new version must meet before it becomes current, one file each.

A guard satisfies `kgsync.state.transaction.Requirement`. A step lists the guards it uses.
"""
