"""The note protocol: a client stores a text, and the server returns it or refuses it."""

from wireproof_spec.protocol import Protocol

PROTOCOL = Protocol("note", __name__)
