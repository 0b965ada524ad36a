"""The bundle, the one file that a run writes, and captures made from it."""
