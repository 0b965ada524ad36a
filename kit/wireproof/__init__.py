"""The command line, and nothing but the command line."""
