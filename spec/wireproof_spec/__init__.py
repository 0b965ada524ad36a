"""The law as data: grammar, catalogue, JSON Schemas, names, golden bytes. No I/O."""
