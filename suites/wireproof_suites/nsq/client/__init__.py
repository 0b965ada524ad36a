"""Cases for clients: what a client does to lookup servers and nodes that the kit plays."""
