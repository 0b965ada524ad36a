"""Variants of the OpenMessaging reference: what the texts leave open, done the other way."""
