"""Messages in combined circumstances: what was sent arrives unaltered."""
