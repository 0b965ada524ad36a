"""Cases about the records in the data directory."""
