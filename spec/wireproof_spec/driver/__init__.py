"""The driver protocol: JSON lines between the kit and a program that drives a system for it."""
