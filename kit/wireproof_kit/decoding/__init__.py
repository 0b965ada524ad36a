"""Decoded values, annotated dumps, and text that is safe to print."""
