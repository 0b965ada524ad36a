"""The kit's version, once."""

KIT_VERSION = "0.9.0"
