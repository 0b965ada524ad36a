"""Cases about streams, topics, partitions, clients and error statuses."""
