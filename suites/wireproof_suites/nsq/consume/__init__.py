"""Cases about delivered messages."""
