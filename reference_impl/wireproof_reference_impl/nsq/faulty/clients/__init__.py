"""Faults of the example client, by subject."""
