"""Cases about random histories of a channel."""
