"""What a user sees of a run: as it goes, and at its end."""
