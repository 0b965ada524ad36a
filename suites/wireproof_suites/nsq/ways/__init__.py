"""Messages in combined circumstances: what is accepted arrives, on every way."""
