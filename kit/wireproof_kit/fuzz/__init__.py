"""Fuzzing of parsers from a grammar: generate cases, send them, judge the answers, triage.

This package knows schemas and no protocol; the code of a protocol lies in the protocol's folder.
"""
