"""OpenMessaging: documents of a message, and of its extension header alone."""
