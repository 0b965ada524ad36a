"""Faults of the server of generation `apache`, by what they are wrong about."""
