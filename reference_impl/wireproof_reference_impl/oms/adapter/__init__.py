"""The adapter protocol without I/O: requests in, answers out, now or when a message is there."""
