"""The graph room: stores, versions, term ids, snapshots, changes and the split."""
