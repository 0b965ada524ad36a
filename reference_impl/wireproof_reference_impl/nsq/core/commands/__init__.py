"""The commands of the TCP protocol, one module for each family."""
