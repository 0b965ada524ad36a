"""Faults of consuming: who may subscribe, which messages are delivered, in which order."""
