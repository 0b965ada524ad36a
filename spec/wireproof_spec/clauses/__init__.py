"""The clauses of a protocol: read from TOML, checked, and compared with the published texts."""
