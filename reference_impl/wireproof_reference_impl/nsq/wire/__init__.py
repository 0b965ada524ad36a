"""Encoding and decoding of frames, headers and records."""
