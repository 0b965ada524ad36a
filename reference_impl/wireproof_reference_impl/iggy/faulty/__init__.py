"""Faults: each makes the server wrong on purpose, from outside the core."""
