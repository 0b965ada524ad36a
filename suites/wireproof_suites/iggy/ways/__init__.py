"""Cases in which messages are sent and polled in combined ways."""
