"""Clients of Iggy under test: the server that the kit plays, its scripts and its answers."""
