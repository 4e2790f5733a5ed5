"""The adapters: one folder or file per kind of store, found through `kgsync.graph.stores.ADAPTERS`.

In: a path, a URL or an object. Out: a `GraphReader` or `GraphStore` of
`kgsync.graph.port`, with the capabilities of the store. May import: graph, queries, common,
errors.
"""
