"""Cases about malformed and split frames."""
