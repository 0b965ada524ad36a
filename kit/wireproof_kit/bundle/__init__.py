"""The bundle: the one file a run leaves, and captures made of it."""
