"""Repeating a recorded exchange and comparing the answers."""
