"""The exchange of a case as evidence: annotated bytes, and code that sends them again."""
