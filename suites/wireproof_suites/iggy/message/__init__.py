"""Cases about the fields of a polled message."""
