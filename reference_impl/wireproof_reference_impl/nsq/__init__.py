"""nsqd with message extend headers."""
