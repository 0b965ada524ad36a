"""Faults of frames: sizes, pieces, words and documents that the parser reads."""
