"""One file a kind of store. The core finds them through `kgsync.graph.stores.ADAPTERS`."""
