"""The HTTP API of nsqlookupd, answered from what the coordinator knows."""
