"""Cases about frames, whole and malformed."""
