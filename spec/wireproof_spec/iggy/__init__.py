"""Iggy's law: frames, commands, messages and their states, log segments, JSON, status codes."""

from wireproof_spec.protocol import Protocol

PROTOCOL = Protocol("iggy", __name__, rank=1)
