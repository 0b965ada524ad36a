"""Fixtures for several folders of tests."""

import socket
from collections.abc import Iterator

import pytest


@pytest.fixture
def dead_port() -> Iterator[int]:
    """Yield a port of the loopback interface on which nobody listens, and no other process can."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]
