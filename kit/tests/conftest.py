"""Fixtures for several folders of tests."""

import socket

import pytest


@pytest.fixture
def dead_port() -> int:
    """Return a port of the loopback interface that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port
