"""The pytest adapter: options, fixtures and the run inside a pytest session."""
