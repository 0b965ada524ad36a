"""Generates cases from a grammar: frames, mutations, values, conversations."""
