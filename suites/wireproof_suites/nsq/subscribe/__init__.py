"""Cases about who may subscribe to a topic."""
