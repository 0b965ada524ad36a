"""The reference server of the Iggy protocol, at its message-state era and as tagged later."""
