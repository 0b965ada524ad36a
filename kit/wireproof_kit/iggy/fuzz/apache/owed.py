"""The answers required of a server of generation apache for the bytes of a connection.

Read liberally: what the pages do not say to be answered may be left without an answer, and what is
malformed may end the session. What comes behind that may be answered or not.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from struct import Struct
from typing import Final, TypeAlias

from wireproof_kit.fuzz.driver import Expectation, Owed
from wireproof_kit.iggy.fuzz.answers import OK_KIND
from wireproof_kit.iggy.fuzz.apache.answers import ANYTHING, fingerprint
from wireproof_kit.iggy.fuzz.flaws import CUT_FRAME, flaw_of_payload
from wireproof_spec.decoding import decode
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.batch import check_batch
from wireproof_spec.iggy.apache.bodies.messages import SendMessages
from wireproof_spec.iggy.apache.bodies.request_shapes import request_schema
from wireproof_spec.iggy.apache.checksum import xxh3_64
from wireproof_spec.iggy.apache.envelopes import OWN
from wireproof_spec.iggy.apache.frames import MAX_FRAME_SIZE
from wireproof_spec.iggy.apache.header import (
    COMMAND_AT,
    HEADER_SIZE,
    REQUEST_COMMAND,
    REQUEST_HEADER,
    SIZE_AT,
    RequestHeader,
)
from wireproof_spec.iggy.bodies.identifier import Identifier
from wireproof_spec.iggy.bodies.partitioning import Partitioning
from wireproof_spec.iggy.kinds import PARTITION_ID
from wireproof_spec.wire_error import WireError

Homes: TypeAlias = Mapping[tuple[Identifier, Identifier], bool]
"""The topics to which cases may send; True for the one from which the kit consumes."""

OK: Final = frozenset({OK_KIND})
FIRST_PARTITION: Final = bytes(4)
SIZE_BELOW: Final = "a size below 256"
SIZE_ABOVE: Final = "a size above 64 MiB"
NO_REQUEST: Final = "a command that is none of a client"
ODD_HEADER: Final = "a header that no request has"
_NUMBER: Final = Struct("<I")
_REQUEST_AT: Final = 168
_PATIENT: Final = 1 << 24
"""A server may end a connection for a frame of more bytes before all of it has arrived."""
_DOUBTFUL: Final = Owed(ANYTHING, "may", optional=True)
_CERTAIN_READS: Final = (operations.POLL_MESSAGES, operations.GET_CONSUMER_OFFSET)
_CERTAIN: Final = (operations.STORE_CONSUMER_OFFSET, operations.DELETE_CONSUMER_OFFSET)
_PLAIN: Final = RequestHeader()


def expect(there: Homes, before: bytes, data: bytes) -> Expectation:
    """Return the valid answers to the bytes sent on a connection.

    It has logged in if there are bytes ``before``.
    """
    owed: list[Owed] = []
    at, end = 0, len(data)
    is_in, moves = bool(before), False
    while end - at > COMMAND_AT:
        size: int = _NUMBER.unpack_from(data, at + SIZE_AT)[0]
        if not HEADER_SIZE <= size <= MAX_FRAME_SIZE:
            flaw = SIZE_BELOW if size < HEADER_SIZE else SIZE_ABOVE
            owed.append(replace(_DOUBTFUL, flaw=flaw))
            return Expectation(tuple(owed), certain=False, moves=moves)
        if end - at < size:
            early = replace(_DOUBTFUL, flaw=CUT_FRAME)
            return Expectation((*owed, early), size < _PATIENT, waits=True, moves=moves)
        each = _find_owed(there, data[at : at + size], is_in=is_in)
        owed.append(each)
        is_moving = data[at + 176] in (operations.REGISTER, operations.LOGOUT)
        moves |= is_moving
        is_in = is_in and not (is_moving or each.flaw)
        at += size
    return Expectation(tuple(owed), waits=at < end, moves=moves)


def find_flaws(there: Homes, data: bytes) -> tuple[str, ...]:
    """Return what is wrong in the requests of a connection's bytes, in their order."""
    expected = expect(there, b"in", data)
    flaws = [owed.flaw for owed in expected.owed if owed.flaw]
    is_cut_head = expected.waits and CUT_FRAME not in flaws
    return (*flaws, CUT_FRAME) if is_cut_head else tuple(flaws)


def _find_owed(there: Homes, frame: bytes, *, is_in: bool) -> Owed:
    header = decode(REQUEST_HEADER, frame[:HEADER_SIZE])
    body = frame[HEADER_SIZE:]
    if header.command != REQUEST_COMMAND:
        return replace(_DOUBTFUL, flaw=NO_REQUEST)
    if not _is_plain(header, body):
        return replace(_DOUBTFUL, flaw=ODD_HEADER)
    is_ping = (header.operation, header.code) == (operations.NON_REPLICATED, operations.PING)
    if is_ping and not body:
        return _answered(frame, OK)
    found = _read(header.operation, header.code, body)
    if isinstance(found, WireError):
        return replace(_DOUBTFUL, flaw=flaw_of_payload(header.operation, found))
    if found is None or not is_in:
        return _DOUBTFUL
    if isinstance(found, SendMessages):
        return _find_owed_by_send(there, frame, found)
    is_read = header.operation == operations.NON_REPLICATED and header.code in _CERTAIN_READS
    return Owed(ANYTHING) if is_read or header.operation in _CERTAIN else _DOUBTFUL


def _is_plain(header: RequestHeader, body: bytes) -> bool:
    """Return True for a header with the fields that a client sets, and zeros elsewhere."""
    stamp = header.request_checksum
    free = (header.client, header.request, header.session, header.timestamp)
    if not all(free[:3]) or stamp not in (0, xxh3_64(body)):
        return False
    plain = RequestHeader(
        size=header.size,
        client=header.client,
        request_checksum=stamp,
        timestamp=header.timestamp,
        request=header.request,
        operation=header.operation,
        session=header.session,
        code=header.code,
    )
    return header == plain and (header.operation == operations.NON_REPLICATED or not header.code)


@lru_cache(maxsize=2048)
def _read(operation: int, code: int, body: bytes) -> object | WireError | None:
    """Decode a body; return None if servers may disagree about its validity."""
    try:
        found: object = decode(request_schema(OWN, operation, code), body)
    except WireError as error:
        # What stands behind a request that is otherwise right, some servers never look at.
        return None if error.field == "end" else error
    except LookupError:
        known = operation in operations.METADATA or code in operations.KNOWN_CODES
        if known and operation not in operations.INTERNAL:
            return None
        return WireError(
            clause=REQUEST_HEADER.clause,
            field="operation",
            offset=176,
            expected="one that the pages name",
            found="another one",
        )
    return found


def _find_owed_by_send(there: Homes, frame: bytes, request: SendMessages) -> Owed:
    metadata, batch = request.metadata, request.batch
    where = metadata.stream, metadata.topic
    try:
        check_batch(batch)
    except WireError as error:
        return replace(_DOUBTFUL, flaw=flaw_of_payload(operations.SEND_MESSAGES, error))
    deltas = [each.offset_delta for each in batch.frames]
    is_usual = (
        deltas == [*range(len(deltas))]
        and metadata.messages_count == len(deltas)
        and is_first(metadata.partitioning)
        and all(each.payload for each in batch.frames)
    )
    if where not in there or not is_usual:
        return _DOUBTFUL
    stored = tuple(map(fingerprint, batch.frames)) if there[where] else ()
    return replace(_answered(frame, OK), stored=stored)


def is_first(partitioning: Partitioning) -> bool:
    """Return True if the partitioning selects the only partition of the topic."""
    return partitioning.kind != PARTITION_ID or partitioning.value == FIRST_PARTITION


def _answered(frame: bytes, kinds: frozenset[str]) -> Owed:
    """Return that a request is answered, and its number echoed."""
    echo = frame[_REQUEST_AT : _REQUEST_AT + 8]
    return Owed(kinds, success=kinds, echo=echo)
