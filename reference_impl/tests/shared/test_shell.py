"""How the shell ends connections."""

import asyncio
from collections.abc import Iterator

import pytest

from wireproof_reference_impl.nsq import presets
from wireproof_reference_impl.served import Schedule
from wireproof_reference_impl.shell import ClientSocket, Clock, Listener, Shell


class _Committer:
    gathers = False

    def commit(self) -> None:
        """Keep nothing."""


class _Source:
    """Serves links that say one word and are over once the client has said all, or at once."""

    def __init__(self) -> None:
        self.schedule = Schedule()
        self.open = True
        self.halted = False

    def run_timers(self, now_ns: int) -> None:
        """Do nothing."""


class _Link:
    def __init__(self, source: _Source) -> None:
        self._source = source
        self._word = b"word"
        self.closed = False

    def receive(self, data: bytes, now_ns: int) -> None:
        """Be over."""
        self.end_of_stream(now_ns)

    def end_of_stream(self, now_ns: int) -> None:
        """Be over."""
        self.closed = True
        self._source.schedule.changed[self] = None

    def handle_loss(self, now_ns: int) -> None:
        """Do nothing."""

    def take_output(self) -> bytes:
        """Say the word, once."""
        word, self._word = self._word, b""
        return word


class _Transport(asyncio.Transport):
    """Notes what is done to it."""

    def __init__(self) -> None:
        super().__init__()
        self.done: list[str] = []

    def is_closing(self) -> bool:
        return "close" in self.done

    def resume_reading(self) -> None:
        """Do nothing."""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.done.append(bytes(data).decode())

    def write_eof(self) -> None:
        self.done.append("no more")

    def close(self) -> None:
        self.done.append("close")


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    yield made
    made.close()


@pytest.fixture
def source() -> _Source:
    return _Source()


@pytest.fixture
def transport() -> _Transport:
    return _Transport()


@pytest.fixture
def client(
    loop: asyncio.AbstractEventLoop, source: _Source, transport: _Transport
) -> Iterator[ClientSocket]:
    pacing = presets.build("published", fault_names=(), variant_names=()).pacing
    shell = Shell(pacing, Clock(), loop, committer=_Committer())
    listener = Listener(source, lambda address, now_ns: _Link(source), ("127.0.0.1", 0))
    loop.run_until_complete(shell.listen(source, listener.address, listener.connect))
    client = ClientSocket(shell, listener)
    client.connection_made(transport)
    yield client
    shell.close()


def test_a_client_that_has_said_all_is_closed_with_the_last_word(
    client: ClientSocket, transport: _Transport
) -> None:
    client.eof_received()
    assert transport.done == ["word", "close"]


def test_a_client_that_may_still_speak_is_listened_to_after_the_last_word(
    client: ClientSocket, transport: _Transport
) -> None:
    client.data_received(b"x")
    assert transport.done == ["word", "no more"]
    assert not client.eof_received(), "nothing holds the connection any more"


def test_a_connection_whose_client_stays_silent_is_closed_in_time(
    loop: asyncio.AbstractEventLoop, source: _Source
) -> None:
    pacing = presets.build("published", fault_names=(), variant_names=()).pacing
    shell = Shell(pacing, Clock(), loop, committer=_Committer())

    async def stay_silent() -> bytes:
        anywhere = ("127.0.0.1", 0)
        address = await shell.listen(source, anywhere, lambda _, __: _Link(source), idle_s=0.05)
        reader, writer = await asyncio.open_connection(*address)
        said = await _all(reader)
        writer.close()
        return said

    assert loop.run_until_complete(stay_silent()) == b""
    assert not shell.clients
    shell.close()


async def _all(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read()
    except ConnectionError:
        return b""
