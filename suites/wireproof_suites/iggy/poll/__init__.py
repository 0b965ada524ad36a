"""Cases about polls, stored offsets and consumer groups."""
