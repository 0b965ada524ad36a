"""Faults of consuming: who may subscribe, which messages come, in which order."""
