"""The server's data: streams, topics, partitions, groups, clients, and consumer offsets."""
