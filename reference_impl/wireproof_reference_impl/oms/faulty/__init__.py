"""Faults of the OpenMessaging reference: overrides of its core, each of which breaks a clause."""
