"""Decodes bytes of generation apache: the frames of one side of a connection, or batches of a log.

Nothing in a reply says which read it answers: one to a poll is recognised by its batches. The
protocol number is that of the login, or of its reply; before, the kit's own.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, BinaryIO, Final, TypeVar

from wireproof_kit.decoding.decoded import Broken, Decoded, Entry, JsonObject, TitledFormatter
from wireproof_kit.iggy.clients.apache.decoder import envelope_of, name_of
from wireproof_kit.iggy.decoding.annotation import APACHE_NAMES, fault_parts, parts_of
from wireproof_kit.iggy.decoding.apache_parts import (
    LENGTH_AT,
    LIMIT,
    BatchReader,
    Piece,
    Placed,
    Side,
    message_object,
    recognise_apache,
    refuse,
    spans_of,
)
from wireproof_kit.iggy.decoding.values import plain
from wireproof_kit.wire.transcript import Part
from wireproof_spec.decoding import Schema, decode
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.batch import (
    BATCH,
    BATCH_HEADER_SIZE,
    decode_batch,
    split_batches,
)
from wireproof_spec.iggy.apache.bodies import messages, results
from wireproof_spec.iggy.apache.bodies.request_shapes import OF_REPLIES, request_schema
from wireproof_spec.iggy.apache.envelope import Envelope, LoggedIn, PollHead
from wireproof_spec.iggy.apache.envelopes import ENVELOPES, OWN
from wireproof_spec.iggy.apache.evictions import REASONS
from wireproof_spec.iggy.apache.frames import (
    Eviction,
    Frame,
    FrameReader,
    NeedMore,
    decode_answer,
    decode_request,
)
from wireproof_spec.iggy.apache.header import (
    COMMAND_AT,
    EVICTION_COMMAND,
    EVICTION_HEADER,
    HEADER_SIZE,
    REPLY_COMMAND,
    REPLY_HEADER,
    REQUEST_COMMAND,
    REQUEST_HEADER,
    ReplyHeader,
)
from wireproof_spec.iggy.apache.statuses import OK, STATUSES
from wireproof_spec.stream import StreamBuffer
from wireproof_spec.wire_error import WireError
from wireproof_spec.wording import count_bytes

T = TypeVar("T")
Tell = Callable[[int, T], Entry]

CHUNK: Final = 1 << 16
_HEADERS: Final[dict[int, Schema[Any]]] = {
    REQUEST_COMMAND: REQUEST_HEADER,
    REPLY_COMMAND: REPLY_HEADER,
    EVICTION_COMMAND: EVICTION_HEADER,
}


def decode_apache(source: BinaryIO, side: Side, head: bytes = b"") -> Iterator[Entry]:
    """Decode what a side of a connection sent, or a log; ``head`` was read from it before."""
    if side == "log":
        log = BatchReader()
        return _entries(source, head, log, log.next_batch, _batch, BATCH)
    reader = FrameReader(LIMIT)
    talk = _Talk()
    tell = talk.request if side == "client" else talk.answer
    schema = REQUEST_HEADER if side == "client" else REPLY_HEADER
    return _entries(source, head, reader, reader.next_frame, tell, schema)


def _entries(
    source: BinaryIO,
    head: bytes,
    reader: StreamBuffer,
    take: Callable[[], T | NeedMore],
    tell: Tell[T],
    schema: Schema[Any],
) -> Iterator[Entry]:
    """Yield each value of a stream, up to and including the first broken one."""
    reader.feed(head)
    while True:
        start = reader.offset
        try:
            value = take()
        except WireError as error:
            pending = reader.pending[:HEADER_SIZE]
            yield _broken(start, pending, [Piece(schema, 0, pending)], error.at(-start))
            return
        if not isinstance(value, NeedMore):
            entry = tell(start, value)
            yield entry
            if isinstance(entry, Broken):
                return
        elif piece := source.read(CHUNK):
            reader.feed(piece)
        else:
            break
    if pending := reader.pending[:CHUNK]:
        cut = refuse("frame", len(pending), "the rest of it", "the end of the input")
        yield _broken(start, pending, [Piece(schema, 0, pending[:HEADER_SIZE])], cut)


class _Talk:
    """What is known of one side of a connection: its protocol number."""

    def __init__(self) -> None:
        self._envelope = OWN

    def request(self, start: int, frame: Frame) -> Entry:
        """Return a frame of a client with its meaning."""
        data = frame.head + frame.body
        request = decode_request(frame)
        head = Piece(REQUEST_HEADER, 0, frame.head)
        header, name = request.header, name_of(request)
        if header.command != REQUEST_COMMAND:
            found = str(header.command)
            due = f"{REQUEST_COMMAND} (request)"
            error = refuse("command", COMMAND_AT, due, found, clause="frame.command")
            return _broken(start, data, [head], error)
        if header.operation == operations.REGISTER:
            self._envelope = envelope_of(frame.body)
        try:
            schema = request_schema(self._envelope, header.operation, header.code)
        except LookupError:
            return _raw(
                "request", start, data, head, name_of(request), {"command": name_of(request)}
            )
        pieces = [head, Piece(schema, HEADER_SIZE, frame.body)]
        try:
            body = decode(schema, frame.body)
        except WireError as error:
            return _broken(start, data, pieces, error.at(HEADER_SIZE))
        sent = body if isinstance(body, messages.SendMessages) else None
        batches = [Placed(sent.batch, "batch.")] if sent else []
        fields: JsonObject = {"command": name, "body": plain(sent.metadata if sent else body)}
        return _decoded("request", start, data, pieces, name, fields, batches)

    def answer(self, start: int, frame: Frame) -> Entry:
        """Return a frame of a server with its meaning."""
        data = frame.head + frame.body
        head = Piece(_HEADERS.get(frame.command, REPLY_HEADER), 0, frame.head)
        try:
            answer = decode_answer(frame)
        except WireError as error:
            return _broken(start, data, [head], error)
        if isinstance(answer, Eviction):
            reason = answer.header.reason
            name = REASONS.get(reason, "unknown reason")
            told: JsonObject = {"reason": reason, "name": name}
            return _raw("eviction", start, data, head, f"{reason} {name}", told)
        header = answer.header
        status = STATUSES.get(header.status, "unknown status")
        operation = _operation_of(header)
        name = operations.OPERATIONS.get(operation, f"operation {operation}")
        fields: JsonObject = {"operation": name, "status": header.status, "name": status}
        title = f"{name}   {header.status} {status}"
        try:
            pieces, batches = self._body(header, frame.body)
        except WireError as error:
            pieces = [head, *_pieces_before(self._envelope, header, frame.body)]
            return _broken(start, data, pieces, error.at(HEADER_SIZE))
        if not pieces:
            return _raw("reply", start, data, head, title, fields)
        if header.operation == operations.NON_REPLICATED and not batches:
            title += "   no message"
        values = [decode(each.schema, each.data) for each in pieces[: len(pieces) - len(batches)]]
        fields["body"] = [plain(each) for each in values]
        return _decoded("reply", start, data, [head, *pieces], title, fields, batches)

    def _body(self, header: ReplyHeader, body: bytes) -> tuple[list[Piece], list[Placed]]:
        """Return the pieces of the body of a reply, and its batches; none if it is not known.

        Raises:
            WireError: the body has not the layout of its operation.
        """
        if header.status != OK or not body:
            return [], []
        if header.operation == operations.NON_REPLICATED:
            return _polled(self._envelope, body)
        if header.operation == operations.SEND_MESSAGES:
            decode(results.CONFIRMATIONS, body)
            return [Piece(results.CONFIRMATIONS, HEADER_SIZE, body)], []
        if header.operation == operations.REGISTER:
            return self._login(body), []
        operation = _operation_of(header)
        if operation in operations.RESULT_FRAMED:
            return list(_framed(OF_REPLIES.get(operation), body)), []
        return [], []

    def _login(self, body: bytes) -> list[Piece]:
        for schema in (each.login_reply for each in ENVELOPES.values()):
            for size in (_RESULT_SIZE, 0):
                try:
                    entered: LoggedIn = decode(schema, body[size:])
                except WireError:
                    continue
                self._envelope = _envelope_of(entered.server_protocol_version)
                result = [Piece(results.RESULT, HEADER_SIZE, body[:size])] if size else []
                return [*result, Piece(schema, HEADER_SIZE + size, body[size:])]
        return list(_framed(None, body))


def _operation_of(header: ReplyHeader) -> int:
    """Return the operation that a reply answers: a new topic is told with an internal one."""
    is_topic = header.operation == operations.CREATE_TOPIC_INTERNAL
    return operations.CREATE_TOPIC if is_topic else header.operation


_RESULT_SIZE: Final = 4
"""The bytes of a result section without entries."""
_MANY: Final = 1 << 32


def _envelope_of(version: int) -> Envelope:
    known = (each for each in ENVELOPES.values() if each.accepts(version))
    return next(known, OWN)


def _framed(schema: Schema[Any] | None, body: bytes) -> Iterator[Piece]:
    """Yield the result section and the payload behind it."""
    result = decode(results.RESULT, body)
    if schema is None or result.rejections or not result.payload:
        yield Piece(results.RESULT, HEADER_SIZE, body)
        return
    decode(schema, result.payload)
    yield Piece(results.RESULT, HEADER_SIZE, body[:_RESULT_SIZE])
    yield Piece(schema, HEADER_SIZE + _RESULT_SIZE, result.payload, "payload.")


def _polled(envelope: Envelope, body: bytes) -> tuple[list[Piece], list[Placed]]:
    """Return the head and the batches of a poll; nothing for another body.

    Raises:
        WireError: the first batch of a poll is whole, and what stands behind it is none.
    """
    size = envelope.poll_head_size
    records = body[size:]
    if len(body) == size and _is_head_of_none(decode(envelope.poll_head, body)):
        return [Piece(envelope.poll_head, HEADER_SIZE, body)], []
    if len(records) < BATCH_HEADER_SIZE or recognise_apache(records) != "log":
        return [], []
    pieces = [Piece(envelope.poll_head, HEADER_SIZE, body[:size])]
    placed: list[Placed] = []
    try:
        for at, record in split_batches(records):
            prefix = f"batches[{len(placed)}]."
            placed.append(Placed(decode_batch(record, at), prefix))
            pieces.append(Piece(BATCH, HEADER_SIZE + size + at, record, prefix))
    except WireError as error:
        raise error.at(size) from None
    return pieces, placed


def _is_head_of_none(head: PollHead) -> bool:
    """Return True for a poll without messages; a sync of one partition has more in its middle."""
    return not head.count and head.current_offset < _MANY


def _pieces_before(envelope: Envelope, header: ReplyHeader, body: bytes) -> Iterator[Piece]:
    """Yield what is to be shown of a body that cannot be decoded."""
    if header.operation != operations.NON_REPLICATED:
        yield Piece(results.RESULT, HEADER_SIZE, body)
        return
    size = envelope.poll_head_size
    yield Piece(envelope.poll_head, HEADER_SIZE, body[:size])
    at = size
    while at < len(body):
        length = int.from_bytes(body[at + LENGTH_AT : at + LENGTH_AT + 8], "little")
        record = body[at : at + max(length, BATCH_HEADER_SIZE)]
        yield Piece(BATCH, HEADER_SIZE + at, record)
        at += len(record)


def _batch(start: int, data: bytes) -> Entry:
    """Return a batch of a log with its meaning."""
    pieces = [Piece(BATCH, 0, data)]
    try:
        batch = decode_batch(data)
    except WireError as error:
        return _broken(start, data, pieces, error)
    header = batch.header
    title = f"partition {header.partition_id}, from offset {header.base_offset}"
    return _decoded("batch", start, data, pieces, title, None, [Placed(batch, "")])


def _decoded(
    kind: str,
    start: int,
    data: bytes,
    pieces: Sequence[Piece],
    title: str,
    fields: JsonObject | None,
    batches: Sequence[Placed],
) -> Decoded:
    checksums = [each for placed in batches for each in placed.checksums()]
    wrong = sum(right != found for _, right, found in checksums)
    count = sum(len(placed.batch.frames) for placed in batches)
    if batches:
        title += f"   {count} message{'s' * (count != 1)}"
    if wrong:
        title += f"   {wrong} wrong checksum{'s' * (wrong != 1)}"

    def parts() -> list[Part]:
        due = {name: right for name, right, _ in checksums}
        return parts_of(spans_of(pieces), due=due, names=APACHE_NAMES)

    def objects() -> Sequence[JsonObject]:
        own: list[JsonObject] = [] if fields is None else [{"kind": kind, **fields}]
        return own + [
            message_object(placed.batch, frame)
            for placed in batches
            for frame in placed.batch.frames
        ]

    return Decoded(kind, start, data, None, TitledFormatter(title, parts, objects))


def _raw(
    kind: str, start: int, data: bytes, head: Piece, title: str, fields: JsonObject
) -> Decoded:
    """Return a frame whose body is shown as it is."""
    body = data[HEADER_SIZE:]
    title += f"   {count_bytes(len(body))} of body" if body else ""
    entry = _decoded(kind, start, data, [head], title, {**fields, "body_hex": body.hex()}, [])
    rest = [Part(HEADER_SIZE, len(body), "body")] if body else []
    formatter = entry.formatter
    shown = TitledFormatter(
        title, lambda: [*formatter.parts(entry), *rest], partial(formatter.objects, entry)
    )
    return Decoded(kind, start, data, None, shown)


def _broken(start: int, data: bytes, pieces: Sequence[Piece], error: WireError) -> Broken:
    """Return a Broken for a frame; ``error`` counts from its first byte."""
    return Broken(
        start,
        data,
        error.at(start),
        lambda: fault_parts(spans_of(pieces), error, names=APACHE_NAMES),
    )
