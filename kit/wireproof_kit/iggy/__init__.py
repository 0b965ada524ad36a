"""The kit's support for Iggy: client over TCP and HTTP, helpers for cases, probes."""
