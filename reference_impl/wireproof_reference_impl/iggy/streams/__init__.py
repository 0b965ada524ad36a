"""What the server keeps: streams, topics, partitions, groups and clients, and who reads where."""
