"""NSQ: the wire client, probes, topics and case words."""
