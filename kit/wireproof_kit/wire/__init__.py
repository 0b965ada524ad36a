"""Connections with deadlines and bounds, HTTP requests, and the transcript of both."""
