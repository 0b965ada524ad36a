"""The commands: each reads its fields and returns what is to be done."""
