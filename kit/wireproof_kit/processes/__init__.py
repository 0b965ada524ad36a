"""Many processes at once: a server that forks reference brokers, and a pool of workers."""
