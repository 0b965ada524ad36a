"""Cases of other folders, repeated in other partitions, transports and polls."""
