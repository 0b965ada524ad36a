"""Ports of a case: one whose server is down refuses connections, and nobody else gets it."""

import os
import socket
import sys
from collections.abc import Iterable, Iterator, Mapping

import pytest

from wireproof_kit.clients.effects import Effect, Listen
from wireproof_kit.clients.events import Event
from wireproof_kit.clients.limits import Limits
from wireproof_kit.clients.sockets import LOOPBACK
from wireproof_kit.clients.stage import Stage
from wireproof_kit.clients.story import Story
from wireproof_kit.nsq.clients.client import NSQ_CLIENTS
from wireproof_kit.wire.transcript import Transcript

pytestmark = pytest.mark.process


class Peer:
    """One server, which does nothing but what it is told before the client starts."""

    def __init__(self, *first: Effect) -> None:
        self._first = first

    def names(self) -> list[str]:
        return ["node"]

    def has_http(self, peer: str) -> bool:
        return False

    def begin(self, addresses: Mapping[str, str], values: Mapping[str, str]) -> Iterable[Effect]:
        return self._first

    def react(self, event: Event) -> Iterator[Effect]:
        return iter(())

    def react_to_timer(self, token: object) -> Iterator[Effect]:
        return iter(())


def play(*first: Effect, copied: list[socket.socket] | None = None) -> tuple[Stage, int]:
    stage = Stage(Peer(*first), Story(NSQ_CLIENTS.decode()), Transcript())
    addresses = stage.listen()
    if copied is not None:
        copied.extend(copies_of(int(addresses["node"].rpartition(":")[2])))
    command = f"{sys.executable} -c pass"
    stage.play(addresses, command, {}, until=lambda _: False, limits=Limits(20.0, 20.0))
    return stage, int(addresses["node"].rpartition(":")[2])


def test_the_port_of_a_server_that_is_down_is_kept() -> None:
    stage, port = play(Listen("node", up=False))
    try:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((LOOPBACK, port))
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind((LOOPBACK, port))
    finally:
        stage.close()


def copies_of(port: int) -> Iterator[socket.socket]:
    """Yield copies of this process's sockets that listen on a port, as a forked child has them."""
    for name in os.listdir("/proc/self/fd"):
        try:
            number = os.dup(int(name))
        except OSError:  # the descriptor of the folder itself, closed by now
            continue
        try:
            copy = socket.socket(fileno=number)
        except OSError:  # no socket
            os.close(number)
            continue
        listens = copy.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        if listens and copy.getsockname() == (LOOPBACK, port):
            yield copy
        else:
            copy.close()


@pytest.mark.parametrize("effects", [(False,), (False, True, False)])
def test_a_server_is_down_though_a_starting_program_has_its_sockets(
    effects: tuple[bool, ...],
) -> None:
    copied: list[socket.socket] = []
    stage, port = play(*(Listen("node", up=up) for up in effects), copied=copied)
    try:
        assert copied
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((LOOPBACK, port))
    finally:
        stage.close()
        for copy in copied:
            copy.close()


def test_a_server_comes_up_again_at_its_port() -> None:
    stage, port = play(Listen("node", up=False), Listen("node", up=True))
    try:
        socket.create_connection((LOOPBACK, port)).close()
    finally:
        stage.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((LOOPBACK, port))
