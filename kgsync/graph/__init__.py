"""The graph: stores, versions, term ids, snapshots, changes and the split.

In: a store that an adapter opened. Out: its versions in order, and the edges of a version as
`Snapshot`, `ChangeSet` and `Reading`. May import: queries, common, errors.
"""
