"""A campaign: its target, workers, batches, coverage and records."""
