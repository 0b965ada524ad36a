"""Cases about PUB_TRACE, message ids and messages in flight."""
