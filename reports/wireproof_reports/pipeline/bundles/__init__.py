"""Bundles on their way into a history: where they lie, and how workers read them."""
