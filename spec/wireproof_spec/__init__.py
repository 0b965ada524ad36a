"""The law: grammar, catalogue, JSON Schemas, names, golden bytes. No I/O."""
