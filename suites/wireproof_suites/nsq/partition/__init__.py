"""Cases about SUB and PUB with a partition."""
