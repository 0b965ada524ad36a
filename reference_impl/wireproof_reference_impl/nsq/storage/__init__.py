"""Queues on disk, in the layout of the published text."""
