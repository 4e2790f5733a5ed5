"""The evaluation room: link prediction and cost."""
