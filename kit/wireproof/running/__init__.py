"""Starts runs: makes run requests from options, and chooses references."""
