"""Fuzzing a parser from its grammar: cases, how they are sent, judged and kept.

Knows schemas and never a protocol; what is a protocol's own lies in its folder.
"""
