"""Faults of the example client."""
