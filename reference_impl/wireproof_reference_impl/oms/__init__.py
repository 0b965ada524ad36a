"""The OpenMessaging reference: a small broker with everything that document 003 describes."""
