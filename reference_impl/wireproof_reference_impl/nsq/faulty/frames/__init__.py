"""Faults of the parser: sizes, pieces of the stream, words, and JSON documents."""
