"""Decoding NSQ streams and queue directories for people and for JSON."""
