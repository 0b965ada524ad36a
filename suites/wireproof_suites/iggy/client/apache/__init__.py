"""Cases for clients of generation apache."""
