"""The evaluation room: link prediction, triple classification, stability and cost."""
