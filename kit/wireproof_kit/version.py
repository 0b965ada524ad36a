"""The kit's version, once."""

KIT_VERSION = "0.1.0"
