"""Faults of clusters and lookup servers."""
