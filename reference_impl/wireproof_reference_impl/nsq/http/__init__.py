"""What a node answers over HTTP."""
