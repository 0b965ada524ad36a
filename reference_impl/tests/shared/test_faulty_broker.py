"""Whoever waits for a reference to have read something is told when it has not."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import waits
from faulty_broker import Peer, Running

from wireproof_reference_impl.nsq import presets
from wireproof_reference_impl.shell import Clock, Shell


class _Committer:
    gathers = False

    def commit(self) -> None:
        """Keep nothing."""


@contextmanager
def _at_rest() -> Iterator[Running]:
    """Give a shell whose loop does not run."""
    pacing = presets.build("published", fault_names=(), variant_names=()).pacing
    loop = asyncio.new_event_loop()
    try:
        yield Running(Shell(pacing, Clock(), loop, committer=_Committer()), loop)
    finally:
        loop.close()


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "LIMIT_S", 0.1)


def test_a_loop_that_stands_still_is_not_taken_for_one_that_has_read() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        Peer(listener.getsockname()) as peer,
        _at_rest() as shell,
    ):
        peer.send(b"x")
        with pytest.raises(AssertionError, match=r"no further round .* within 0\.1 s"):
            peer.settle(shell)


def test_a_broker_that_has_ended_is_not_waited_for() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        Peer(listener.getsockname()) as peer,
        _at_rest() as shell,
    ):
        shell.shell.stop()
        peer.settle(shell)


def test_bytes_that_are_not_taken_are_not_taken_for_read() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        Peer(listener.getsockname()) as peer,
        _at_rest() as shell,
    ):
        shell.shell.stop()
        peer.sock.setblocking(False)  # nobody will take the rest
        peer.send(bytes(32_000_000))
        with pytest.raises(AssertionError, match=r"no bytes taken .* within 0\.1 s"):
            peer.settle(shell)
