"""Faults of publishing: which messages are accepted, answered and stored, and how."""
