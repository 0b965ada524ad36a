"""Options, configuration and the choice of the target, shared by commands."""
