"""Cases of generation apache in which messages are sent and polled over HTTP in combined ways."""
