"""The kit's support for NSQ: wire client, probes, topics and helpers for cases."""
