"""Fuzzing servers of generation apache."""
