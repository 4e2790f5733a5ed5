"""Training, ranking and updating beside what people would use instead."""
