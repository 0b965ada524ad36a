"""The server without sockets, files, clocks and randomness: bytes in, bytes out."""
