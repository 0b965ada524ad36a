"""The stage of a case: its ports, of which one that is down stays taken, and what it writes."""

import os
import socket
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from wireproof_kit.clients.effects import Effect, HangUp, Listen, Send
from wireproof_kit.clients.events import Connected, Event, Wrote
from wireproof_kit.clients.limits import Limits
from wireproof_kit.clients.pieces import Pieces
from wireproof_kit.clients.sockets import LOOPBACK, Connection
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

    def pieces(self, peer: str) -> Pieces | None:
        return None

    def begin(self, addresses: Mapping[str, str], values: Mapping[str, str]) -> Iterable[Effect]:
        return self._first

    def react(self, event: Event) -> Iterator[Effect]:
        return iter(())

    def react_to_timer(self, token: object) -> Iterator[Effect]:
        return iter(())


def play(*first: Effect, copied: list[socket.socket] | None = None) -> tuple[Stage, int]:
    stage = Stage(Peer(*first), Story(NSQ_CLIENTS.decode()), Transcript(), NSQ_CLIENTS.make_mask)
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


class Sender(Peer):
    """A server that sends three frames to whoever connects, and closes."""

    SENDS = (b"the first", b"the second", b"the third")

    def __init__(self, pieces: Pieces | None) -> None:
        super().__init__()
        self._pieces = pieces

    def pieces(self, peer: str) -> Pieces | None:
        return self._pieces

    def react(self, event: Event) -> Iterator[Effect]:
        if isinstance(event, Connected):
            for data in self.SENDS:
                yield Send(event.conn, data)
            yield HangUp(event.conn)


READER = """
import socket, sys
host, port = sys.argv[1].split(":")
with socket.create_connection((host, int(port))) as node:
    while data := node.recv(4096):
        sys.stderr.buffer.write(data)
"""


@pytest.mark.parametrize(
    ("pieces", "written"),
    [
        (None, [b"the first", b"the second", b"the third"]),
        (Pieces(2), [b"th", b"e first", b"th", b"e second", b"th", b"e third"]),
        (Pieces(-1), [b"the firs", b"t", b"the secon", b"d", b"the thir", b"d"]),
        (Pieces(99), [b"the first", b"the second", b"the third"]),
        (Pieces(single=True), [bytes([each]) for each in b"".join(Sender.SENDS)]),
        (Pieces(is_glued=True), [b"the firstthe secondthe th", b"ird"]),
    ],
    ids=["whole", "at", "from-the-end", "beyond", "single", "glued"],
)
def test_what_is_sent_is_written_in_pieces_and_whole_in_the_end(
    pieces: Pieces | None, written: list[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[bytes] = []
    usual = Connection.write_due

    def write(connection: Connection) -> int:
        data = bytes(connection.outgoing[: connection.due])
        sent = usual(connection)
        found.append(data[:sent])
        return sent

    monkeypatch.setattr(Connection, "write_due", write)
    program = tmp_path / "reader.py"
    program.write_text(READER)
    story = Story(NSQ_CLIENTS.decode())
    stage = Stage(Sender(pieces), story, Transcript(), NSQ_CLIENTS.make_mask)
    try:
        addresses = stage.listen()
        command = f"{sys.executable} {program} {addresses['node']}"
        stage.play(addresses, command, {}, until=lambda _: False, limits=Limits(3600.0, 3600.0))
    finally:
        stage.close()

    assert found == written
    assert b"".join(event.data for event in story.of(Wrote)) == b"".join(Sender.SENDS)


def test_only_the_first_bytes_of_a_long_send_come_one_by_one() -> None:
    sizes = Pieces(single=True).cut(1000)

    assert list(sizes) == [1] * 64 + [936]
