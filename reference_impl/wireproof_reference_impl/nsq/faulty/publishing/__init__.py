"""Faults of publishing: what is taken, how it is answered, what is stored."""
