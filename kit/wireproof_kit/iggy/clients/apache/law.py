"""What binds the requests of a client of generation apache, as pure functions of what it sends.

Cases, the ledger of clients and the proxy judge requests by them. One `RequestLaw` follows one
connection: who has logged in on it, with which session, and which numbers have been used.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from wireproof_kit.iggy.apache.rules import RIGHT_TIMES
from wireproof_kit.iggy.clients.apache.decoder import envelope_of, read_prefix
from wireproof_kit.ledger.outcomes import Finding
from wireproof_kit.observation import Difference
from wireproof_spec.decoding import decode, encode
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.batch import (
    BATCH_HEADER,
    BATCH_HEADER_SIZE,
    Batch,
    batch_checksum,
    frame_checksum,
    frame_size,
)
from wireproof_spec.iggy.apache.bodies.messages import SEND_MESSAGES, SendMessages
from wireproof_spec.iggy.apache.bodies.results import RESULT
from wireproof_spec.iggy.apache.checksum import xxh3_64
from wireproof_spec.iggy.apache.envelope import Envelope, Meaning
from wireproof_spec.iggy.apache.envelopes import OWN
from wireproof_spec.iggy.apache.frames import Eviction, Frame, Request, decode_answer
from wireproof_spec.iggy.apache.header import (
    HEADER_SIZE,
    REQUEST_COMMAND,
    REQUEST_HEADER,
    RequestHeader,
)
from wireproof_spec.iggy.apache.operations import (
    METADATA,
    NON_REPLICATED,
    PARTITION,
    REGISTER,
    USERS,
)
from wireproof_spec.wire_error import WireError

LAW: Final = "iggy.apache.client."
_SENT_BY_CLIENTS: Final = frozenset({1, 2, 3, *METADATA, *PARTITION})
_ZERO: Final = ("checksum", "checksum_body", "cluster", "view", "release", "replica", "user_id")
_STAMPED: Final = ("partition_id", "base_offset", "base_timestamp")
_MASKED: Final = frozenset({REGISTER, *USERS})
"""Operations in whose recorded bodies secrets are masked: no checksum fits them."""
_VERSION_BITS: Final = 30
_RESERVED: Final = ((62, 128), (177, 184), (200, HEADER_SIZE))
_CODE_AT: Final = 196
_BATCH_RESERVED: Final = ((52, BATCH_HEADER_SIZE),)

Ranges = Iterable[tuple[int, int]]


class RequestLaw:
    """Judges the requests on one connection of a client of generation apache, in their order."""

    def __init__(self) -> None:
        self._client: int | None = None
        """The client id of the latest login."""
        self._session: int | None = None
        """The session that the client has been given and not lost; None outside of one."""
        self._is_evicted = False
        self._metadata = 0
        self._login: RequestHeader | None = None
        self._envelope = OWN

    def see_request(self, request: Request) -> Iterator[Finding]:
        """Yield what a request shows."""
        header = request.header
        if header.operation == REGISTER:
            self._envelope = envelope_of(request.body)
        yield from judge_header(self._envelope, header)
        if header.operation not in _MASKED:
            is_right = header.request_checksum in (0, xxh3_64(request.body))
            yield _hold("stamp", is_right, "stamp:wrong")
        if header.operation == REGISTER:
            yield from self._judge_login(request)
        else:
            yield from self._judge_later(header)
        if header.operation == operations.SEND_MESSAGES:
            try:
                body = decode(SEND_MESSAGES, request.body)
            except WireError:
                return
            yield from judge_send(self._envelope, body)

    def see_answer(self, data: bytes) -> None:
        """Note what an answer of the server changes: a session is given, or taken."""
        if len(data) < HEADER_SIZE:
            return
        try:
            answer = decode_answer(Frame(data[:HEADER_SIZE], data[HEADER_SIZE:]))
            if isinstance(answer, Eviction):
                self._session, self._is_evicted = None, True
            elif self._login is not None and answer.header.operation == REGISTER:
                payload = decode(RESULT, answer.body).payload
                self._session = decode(self._envelope.login_reply, payload).session
                self._login = None
        except WireError:
            return

    def _judge_login(self, request: Request) -> Iterator[Finding]:
        header = request.header
        self._login, self._client, self._metadata = header, header.client, 0
        self._is_evicted = False
        yield _equal("session", "session:set", "session", 0, header.session)
        yield _equal("numbers-positive", "number:set", "request", 0, header.request)
        prefix = read_prefix(request.body)
        if prefix is not None:
            version = prefix.protocol_version
            is_packed = 0 < version < 1 << _VERSION_BITS
            yield _hold("version", is_packed, "version:other", f"{version:#x}")

    def _judge_later(self, header: RequestHeader) -> Iterator[Finding]:
        is_read = header.operation == NON_REPLICATED
        is_ping = is_read and header.code == operations.PING
        is_legacy = is_read and header.code in operations.LEGACY_LOGINS
        may_come = self._client is not None or is_ping
        yield _hold("login-first", may_come and not is_legacy, "asks:early")
        if self._session is not None:
            yield _equal("session", "session:other", "session", self._session, header.session)
        if self._client is not None and not self._is_evicted:
            yield _equal("identity", "client:other", "client", self._client, header.client)
        if not is_read:
            yield _hold("numbers-positive", header.request > 0, "number:zero")
        if header.operation in METADATA:
            is_greater = header.request > self._metadata
            note = f"{header.request} behind {self._metadata}"
            yield _hold("numbers", is_greater, "number:not-greater", note)
            self._metadata = max(self._metadata, header.request)


def judge_header(envelope: Envelope, header: RequestHeader) -> Iterator[Finding]:
    """Judge the fields of a request's header that nothing before it determines."""
    yield _equal("request", "command:other", "command", REQUEST_COMMAND, header.command)
    yield from _each_equal("zero", "zero:not", {name: getattr(header, name) for name in _ZERO})
    data = encode(REQUEST_HEADER, header)
    code = () if header.operation == NON_REPLICATED else ((_CODE_AT, _CODE_AT + 4),)
    set_at = _first_set(data, (*_RESERVED, *code), envelope.request_meanings)
    yield _hold("reserved", set_at is None, "reserved:set", f"byte {set_at}")
    is_known = header.operation in _SENT_BY_CLIENTS
    yield _hold("operation", is_known, "operation:other", f"{header.operation}")
    yield _hold("register", header.client != 0, "client:zero")


def judge_send(envelope: Envelope, body: SendMessages) -> Iterator[Finding]:
    """Judge the batch of a request to send."""
    header, frames = body.batch.header, body.batch.frames
    stamped = {name: getattr(header, name) for name in _STAMPED}
    yield from _each_equal("fields", "fields:set", stamped)
    yield from judge_checksums(body.batch)
    deltas = [frame.offset_delta for frame in frames]
    is_index = deltas == list(range(len(frames)))
    yield _hold("deltas", is_index, "deltas:other", f"{deltas[:5]}")
    yield from _judge_counts(body)
    yield from _judge_reserved(envelope, body.batch)
    yield _hold("origin", header.origin_timestamp in RIGHT_TIMES, "origin:none")
    numbers = [frame.id for frame in frames]
    is_own = all(numbers) and len(set(numbers)) == len(numbers)
    yield _hold("ids", is_own, "ids:zero" if not all(numbers) else "ids:same")


def judge_checksums(batch: Batch) -> Iterator[Finding]:
    """Judge the checksums of a batch that was sent, first those of its messages."""
    for frame in batch.frames:
        right = frame_checksum(frame)
        yield _equal("checksums", "checksum:frame", "checksum", right, frame.checksum)
    right = batch_checksum(batch)
    found = batch.header.batch_checksum
    yield _equal("checksums", "checksum:batch", "batch_checksum", right, found)


def _judge_counts(body: SendMessages) -> Iterator[Finding]:
    header, frames = body.batch.header, body.batch.frames
    length = BATCH_HEADER_SIZE + sum(map(frame_size, frames))
    yield _equal("counts", "counts:length", "batch_length", length, header.batch_length)
    for name, found in (
        ("message_count", header.message_count),
        ("messages_count", body.metadata.messages_count),
    ):
        yield _equal("counts", "counts:count", name, len(frames), found)


def _judge_reserved(envelope: Envelope, batch: Batch) -> Iterator[Finding]:
    data = encode(BATCH_HEADER, batch.header)
    set_at = _first_set(data, _BATCH_RESERVED, envelope.batch_meanings)
    yield _hold("reserved-batch", set_at is None, "reserved:set", f"byte {set_at}")
    yield _hold(
        "reserved-batch", not any(frame.reserved for frame in batch.frames), "reserved:set"
    )


def _first_set(data: bytes, ranges: Ranges, meanings: Sequence[Meaning]) -> int | None:
    """Return the place of the first byte in these ranges that is set and has no meaning."""
    meant = {
        at for meaning in meanings for at in range(meaning.offset, meaning.offset + meaning.size)
    }
    places = (at for start, end in ranges for at in range(start, end) if at not in meant)
    return next((at for at in places if data[at]), None)


def _each_equal(clause: str, value: str, fields: Mapping[str, int]) -> Iterator[Finding]:
    """Judge whether all these fields are zero; name the first that is not."""
    wrong = next(((name, found) for name, found in fields.items() if found), None)
    if wrong is None:
        yield Finding(f"{LAW}{clause}")
    else:
        yield _equal(clause, value, wrong[0], 0, wrong[1])


def _hold(clause: str, holds: bool, value: str, note: str = "") -> Finding:
    return Finding(f"{LAW}{clause}") if holds else Finding(f"{LAW}{clause}", value, note)


def _equal(clause: str, value: str, name: str, due: int, found: int) -> Finding:
    if due == found:
        return Finding(f"{LAW}{clause}")
    return Finding(f"{LAW}{clause}", value, "", Difference(name, None, str(due), str(found)))
