"""Cases for Iggy clients."""
