"""The HTTP API: requests in JSON and queries in, answers out, no sockets."""
