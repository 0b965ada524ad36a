"""Topics and channels of a run: where they come from and who gets which."""
