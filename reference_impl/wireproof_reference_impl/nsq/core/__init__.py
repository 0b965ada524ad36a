"""The broker without a socket: bytes in, bytes out, told the time."""
