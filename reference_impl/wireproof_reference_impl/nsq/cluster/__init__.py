"""Several nodes in one process: which leads a partition, which follow it, which are away."""
