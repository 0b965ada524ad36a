"""Iggy's law: frames, commands, messages and their states, log segments, JSON, status codes."""
