"""The HTTP API of nsqlookupd, answered from the coordinator's state."""
