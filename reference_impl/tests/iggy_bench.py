"""An Iggy server with its own time and ids, and clients without sockets."""

import itertools
import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import h11

from wireproof_reference_impl.iggy import control
from wireproof_reference_impl.iggy.core.connection import Connection
from wireproof_reference_impl.iggy.core.server import Server, Surroundings
from wireproof_reference_impl.iggy.disk import DiskStorage
from wireproof_reference_impl.iggy.http import routes
from wireproof_reference_impl.iggy.http.connection import HttpConnection
from wireproof_reference_impl.iggy.options import PUBLISHED
from wireproof_reference_impl.iggy.presets import build
from wireproof_reference_impl.iggy.streams.storage import MemoryStorage
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.frame import response

FIRST_US = 10**15
STEP_US = 1000
FIRST_ID = 1 << 100
STREAM = TOPIC = b"\x01\x04\x01\0\0\0"
PLACE = STREAM + TOPIC
OK = response(0)


class Response(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> object:
        return json.loads(self.body)


class Client:
    """One client over TCP."""

    def __init__(self, bench: "Bench", connection: Connection) -> None:
        self._bench = bench
        self.connection = connection

    @property
    def closed(self) -> bool:
        return self.connection.closed

    def send(self, data: bytes) -> None:
        self.connection.receive(data, self._bench.tick())

    def take(self) -> bytes:
        return self.connection.take_output()

    def ask(self, code: int, payload: bytes = b"") -> bytes:
        self.send(frame(code, payload))
        return self.take()

    def ok(self, code: int, payload: bytes = b"") -> bytes:
        answer = self.ask(code, payload)
        assert answer[:4] == bytes(4), f"status {int.from_bytes(answer[:4], 'little')}"
        return answer[8:]

    def status(self, code: int, payload: bytes = b"") -> int:
        answer = self.ask(code, payload)
        assert len(answer) == 8, "no status came"
        return int.from_bytes(answer[:4], "little")


class Bench:
    """A server with time that only passes when something happens."""

    def __init__(
        self,
        *,
        generation: str = PUBLISHED,
        dialect: str = PUBLISHED,
        faults: Sequence[str] = (),
        variants: Sequence[str] = (),
        data: Path | None = None,
        segment_size: int = 1 << 30,
    ) -> None:
        self._times: Iterator[int] = itertools.count(FIRST_US, STEP_US)
        self._addresses = itertools.count(40000)
        self.server = Server(
            build(generation, dialect, fault_names=faults, variant_names=variants),
            Surroundings(
                storage=MemoryStorage() if data is None else DiskStorage(data),
                new_id=itertools.count(FIRST_ID).__next__,
                started_us=FIRST_US,
                segment_size=segment_size,
            ),
        )

    def tick(self) -> int:
        return next(self._times)

    def connect(self) -> Client:
        address = f"127.0.0.1:{next(self._addresses)}"
        connection = Connection(self.server, address=address, now_us=self.tick())
        return Client(self, connection)

    def with_topic(self, partitions: int = 1) -> Client:
        client = self.connect()
        client.ok(commands.CREATE_STREAM, u32(1) + b"s")
        client.ok(commands.CREATE_TOPIC, STREAM + u32(1) + u32(partitions) + b"t")
        return client

    def http(
        self, method: str, path: str, body: object = None, *, raw: bytes | None = None
    ) -> Response:
        """Send one request; a body is told as JSON unless it is given raw."""
        data = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"} if data else {}
        connection = routes.connection(self.server)
        return exchange(connection, method, path, data, headers, now_us=self.tick())

    def control(self, method: str, path: str) -> Response:
        connection = control.connection(self.server)
        return exchange(connection, method, path, b"", {}, now_us=self.tick())


def exchange(
    connection: HttpConnection[Server],
    method: str,
    path: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    now_us: int,
) -> Response:
    """Send one request over a connection and read its answer."""
    reader = h11.Connection(h11.CLIENT)
    length = {"Content-Length": str(len(body))} if body else {}
    every = [*{"Host": "x", **headers, **length}.items()]
    data = reader.send(h11.Request(method=method, target=path, headers=every)) or b""
    data += reader.send(h11.Data(data=body)) or b""
    data += reader.send(h11.EndOfMessage()) or b""
    connection.receive(data, now_us)
    reader.receive_data(connection.take_output())
    answer = reader.next_event()
    assert isinstance(answer, h11.Response), answer
    found = b""
    while isinstance(event := reader.next_event(), h11.Data):
        found += event.data
    assert isinstance(event, h11.EndOfMessage)
    named = {name.decode(): value.decode() for name, value in answer.headers}
    return Response(answer.status_code, named, found)


def frame(code: int, payload: bytes = b"") -> bytes:
    return struct.pack("<II", 4 + len(payload), code) + payload


def u32(number: int) -> bytes:
    return number.to_bytes(4, "little")


def u64(number: int) -> bytes:
    return number.to_bytes(8, "little")


def sent(payload: bytes, *, number: int = 1, headers: bytes = b"") -> bytes:
    """Return a message of a request."""
    return (
        number.to_bytes(16, "little") + u32(len(headers)) + headers + u32(len(payload)) + payload
    )


def sending(*messages: bytes, partitioning: bytes = b"\x02\x04" + u32(1)) -> bytes:
    return PLACE + partitioning + b"".join(messages)


def polling(
    *,
    strategy: int = 1,
    value: int = 0,
    count: int = 10,
    commit: bool = False,
    consumer: bytes = b"\x01" + u32(1),
    partition: int = 1,
) -> bytes:
    head = consumer + PLACE + u32(partition)
    return head + bytes([strategy]) + u64(value) + u32(count) + bytes([commit])
