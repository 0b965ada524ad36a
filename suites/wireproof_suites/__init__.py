"""The cases, by protocol and interface."""
