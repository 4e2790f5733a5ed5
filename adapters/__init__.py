"""The adapters: one folder or file per kind of store, found through `kgsync.graph.stores.ADAPTERS`.

In: what the user named (a path, a URL, an object). Out: a `GraphReader` or `GraphStore` of
`kgsync.graph.port`, with the abilities that the store has. May import: graph, queries, common,
errors.
"""
