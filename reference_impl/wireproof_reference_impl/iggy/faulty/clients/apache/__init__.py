"""Faults of the example client where its server is of generation apache."""
