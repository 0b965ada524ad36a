"""Fuzzing clients of Iggy: what a server could send, whole and broken, and what must follow."""
