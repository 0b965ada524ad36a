"""Faults: servers that are wrong on purpose, made from outside the core."""
