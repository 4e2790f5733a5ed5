"""Guards that are not shipped: files that somebody might add to `kgsync/service/guards`."""
