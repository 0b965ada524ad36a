"""Commands over TCP: each handler reads fields and returns the action that answers."""
