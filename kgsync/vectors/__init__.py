"""Reading committed vectors: neighbours, predictions, export, queries."""
