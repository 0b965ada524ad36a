"""The broker without I/O: it takes bytes and the current time and returns bytes."""
