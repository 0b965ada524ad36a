"""Cases about messages in JSON."""
