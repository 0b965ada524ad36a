"""Which client gets a message, when, and for how long."""
