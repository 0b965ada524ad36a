"""The commands on a history of runs: fill it, ask it, and keep it small."""
