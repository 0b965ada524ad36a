"""Cases about the HTTP API."""
