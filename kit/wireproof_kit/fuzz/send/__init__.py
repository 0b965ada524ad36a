"""Sending cases: connections, pipelines, conversations, write styles."""
