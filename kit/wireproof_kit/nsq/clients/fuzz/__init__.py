"""Fuzzing NSQ clients: what a server could send, and the peers that send it."""
