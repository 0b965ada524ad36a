"""Requests of a client of generation apache, for tests."""

from collections.abc import Iterator

from msgspec.structs import replace

from wireproof_kit.clients.events import Event
from wireproof_kit.iggy.apache import batches, requests
from wireproof_kit.iggy.apache.requests import Polling
from wireproof_kit.iggy.clients.decoder import IggyDecoder
from wireproof_spec.decoding import encode
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.batch import Batch
from wireproof_spec.iggy.apache.envelope import Envelope, LoginBody
from wireproof_spec.iggy.apache.envelopes import OWN
from wireproof_spec.iggy.apache.header import RequestHeader
from wireproof_spec.iggy.bodies.identifier import numeric
from wireproof_spec.iggy.bodies.partitioning import partition_id

CLIENT, SESSION = 7, 21
WHERE = numeric(1), numeric(1)
LOGGED_IN = RequestHeader(client=CLIENT, session=SESSION, request=1)


def login(version: int = OWN.version, *, number: Envelope = OWN, **fields: int) -> bytes:
    """Return a login with name and password, in the shapes of a protocol number."""
    secret = bytes(number.secret_size) if number.secret_size else None
    named = LoginBody(version, "sdk", "1.0", "iggy", "secret", bind_secret=secret)
    body = encode(number.login, named)
    header = RequestHeader(client=CLIENT, operation=operations.REGISTER)
    return requests.frame(replace(header, **fields), body).data


def read(code: int, body: bytes = b"", **fields: int) -> bytes:
    """Return a request that is not replicated."""
    header = replace(LOGGED_IN, operation=operations.NON_REPLICATED, code=code)
    return requests.frame(replace(header, **fields), body).data


def poll(count: int = 10, polling: Polling | None = None, **fields: int) -> bytes:
    """Return a poll from the first message on."""
    body = requests.poll_body(WHERE, 0, polling or Polling(count=count))
    return read(operations.POLL_MESSAGES, body.data, **fields)


def send(batch: Batch | bytes | None = None, count: int | None = None, **fields: int) -> bytes:
    """Return a request to send two messages, or this batch."""
    made = batches.batch(*batches.numbered(2)) if batch is None else batch
    body = requests.send_body(WHERE, partition_id(0), made, count)
    header = replace(LOGGED_IN, operation=operations.SEND_MESSAGES)
    return requests.frame(replace(header, **fields), body).data


def write(operation: int, body: bytes = b"", **fields: int) -> bytes:
    """Return a replicated request."""
    return requests.frame(replace(LOGGED_IN, operation=operation, **fields), body).data


def decoded(*pieces: bytes, conn: str = "tcp.1") -> Iterator[Event]:
    """Yield the events in bytes of a client."""
    decoder = IggyDecoder()
    decoder.open(0.0, conn)
    for piece in pieces:
        yield from decoder.decode_received(0.0, conn, piece)
