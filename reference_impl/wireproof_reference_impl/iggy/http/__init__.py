"""The HTTP API without sockets: bytes of requests in, bytes of answers out."""
