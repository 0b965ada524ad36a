"""The core of the example client: bytes, answers and time in, effects out; no I/O.

`client` is the way in. Read `connection` for the wire, `lookups` and `topology` for how nodes are
found, `producer` and `retry` for publishing, `consumer` and `subscription` for consuming.
"""
