"""Fuzzing of NSQ: its frame kinds, connection states and required answers."""
