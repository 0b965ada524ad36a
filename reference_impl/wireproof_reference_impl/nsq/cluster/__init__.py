"""Several nodes in one process: who leads which partition, who follows, what is away."""
