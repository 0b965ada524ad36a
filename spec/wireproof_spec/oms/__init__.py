"""OpenMessaging: documents of a message, and of its extension header alone."""

from wireproof_spec.protocol import Protocol

PROTOCOL = Protocol("oms", __name__, rank=2)
