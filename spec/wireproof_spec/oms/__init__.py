"""OpenMessaging: documents of whole messages, and of extension headers alone."""

from wireproof_spec.protocol import Protocol

PROTOCOL = Protocol("oms", __name__, rank=2, wire=False)
