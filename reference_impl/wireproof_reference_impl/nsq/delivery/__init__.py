"""Which client gets a message, when, and until when it holds it."""
