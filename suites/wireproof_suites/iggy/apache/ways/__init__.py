"""Cases of generation apache in which batches are sent and polled in combined ways."""
