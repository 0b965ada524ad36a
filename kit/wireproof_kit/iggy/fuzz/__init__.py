"""Fuzzing of Iggy: its request kinds, connection states and required answers."""
