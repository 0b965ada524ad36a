"""Probes: what an NSQ target can do, and which readings it follows."""
