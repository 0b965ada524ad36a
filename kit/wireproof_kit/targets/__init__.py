"""The target: its address, its session, and the reference that the kit starts itself."""
