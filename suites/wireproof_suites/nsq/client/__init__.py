"""Cases for clients: what a client sends to lookup servers and nodes that the kit plays."""
