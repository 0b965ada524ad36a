"""Cases about sending and partitioning."""
