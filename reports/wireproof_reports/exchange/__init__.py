"""The bytes of a case as evidence: annotated dumps and code that sends them again."""
