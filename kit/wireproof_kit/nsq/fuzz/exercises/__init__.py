"""What the kit's own NSQ clients do by themselves during a case."""
