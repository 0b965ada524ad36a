"""Decoding Iggy streams and logs for people and for JSON."""
