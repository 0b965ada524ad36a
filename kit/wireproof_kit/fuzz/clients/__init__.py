"""Fuzzing a client: it is started, and gets cases from the peers that the kit plays."""
