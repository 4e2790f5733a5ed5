"""The training room: samplers, epochs, training from scratch and updating."""
