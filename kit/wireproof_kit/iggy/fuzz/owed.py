"""The answers required of an Iggy server for the bytes of a connection, read liberally.

Every request is answered once and in its turn; one that cannot be read may end the connection.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from struct import Struct
from typing import Final

from wireproof_kit.fuzz.driver import Expectation, Owed
from wireproof_kit.iggy.fuzz.answers import OK_KIND, REFUSED, fingerprint_stored
from wireproof_kit.iggy.fuzz.flaws import (
    CUT_LENGTH,
    LENGTH_BELOW_FOUR,
    UNKNOWN_CODE,
    flaw_of_cut_frame,
    flaw_of_payload,
)
from wireproof_spec.decoding import decode
from wireproof_spec.iggy import commands, limits
from wireproof_spec.iggy.bodies.command_shapes import Payload, payload_schema
from wireproof_spec.iggy.bodies.identifier import Identifier, make_named, numeric
from wireproof_spec.iggy.bodies.partitioning import Partitioning
from wireproof_spec.iggy.bodies.send_messages import SendMessages
from wireproof_spec.iggy.header_kinds import header_value
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.kinds import BALANCED, MESSAGES_KEY, PARTITION_ID
from wireproof_spec.wire_error import WireError

OK: Final = frozenset({OK_KIND})
ANYTHING: Final = REFUSED | OK
FIRST_PARTITION: Final = (1).to_bytes(4, "little")
_LENGTH = Struct("<I")
_HEAD_SIZE = 8
_PATIENT = 1 << 24
"""A server may refuse a request of more bytes before all of it has arrived."""
_MOVING = frozenset({commands.JOIN_CONSUMER_GROUP, commands.LEAVE_CONSUMER_GROUP})
_MAKING = frozenset(
    {
        commands.CREATE_STREAM,
        commands.CREATE_TOPIC,
        commands.CREATE_PARTITIONS,
        commands.DELETE_PARTITIONS,
        commands.CREATE_CONSUMER_GROUP,
        commands.DELETE_CONSUMER_GROUP,
        commands.GET_CONSUMER_GROUP,
        commands.GET_CLIENT,
        commands.KILL,
        *_MOVING,
    }
)
"""Commands whose names, counts and numbers may make the server close the connection."""

_MALFORMED = Owed(REFUSED, "may")
_DOUBTFUL = Owed(ANYTHING, "may")
_EXECUTED = Owed(ANYTHING)
_DONE = Owed(OK, success=OK)


@dataclass(frozen=True, slots=True)
class WritableStreams:
    """The topics to which cases may send, by identifiers of stream and topic.

    The value is True if the kit consumes from the topic. `closes_refused`: the server closes a
    connection on which it refuses a request, after a status or in place of it.
    """

    there: Mapping[tuple[Identifier, Identifier], bool]
    closes_refused: bool = False


def homes(
    streams: Mapping[tuple[int, str], bool],
    *,
    topic: tuple[int, str],
    closes_refused: bool = False,
) -> WritableStreams:
    """Return one topic in several streams, under each of its identifiers by number and by name.

    ``streams`` maps number and name to whether the kit consumes from the stream.
    """
    there: dict[tuple[Identifier, Identifier], bool] = {}
    for (number, name), is_read in streams.items():
        for stream in (numeric(number), make_named(name)):
            for each in (numeric(topic[0]), make_named(topic[1])):
                there[stream, each] = is_read
    return WritableStreams(there, closes_refused)


def expect(there: WritableStreams, data: bytes) -> Expectation:
    """Return the valid answers to the bytes sent on a connection."""
    owed: list[Owed] = []
    at, end = 0, len(data)
    moves = False
    while end - at >= _LENGTH.size:
        length: int = _LENGTH.unpack_from(data, at)[0]
        if length < _LENGTH.size:
            owed.append(Owed(REFUSED, "may", optional=True, flaw=LENGTH_BELOW_FOUR))
            return Expectation(tuple(owed), certain=False, moves=moves)
        if end - at < _LENGTH.size + length:
            flaw = flaw_of_cut_frame(length)
            early = Owed(REFUSED, "may", optional=True, flaw=flaw)
            return Expectation((*owed, early), length < _PATIENT, waits=True, moves=moves)
        code: int = _LENGTH.unpack_from(data, at + _LENGTH.size)[0]
        behind = at + _LENGTH.size + length
        owed.append(_find_owed(there, code, data[at + _HEAD_SIZE : behind]))
        moves = moves or code in _MOVING
        at = behind
    return Expectation(tuple(owed), waits=at < end, moves=moves)


def find_flaws(there: WritableStreams, data: bytes) -> tuple[str, ...]:
    """Return what is wrong in the requests of a connection's bytes, in their order."""
    expected = expect(there, data)
    flaws = [owed.flaw for owed in expected.owed if owed.flaw]
    is_cut_length = expected.waits and not any(owed.optional for owed in expected.owed)
    return (*flaws, CUT_LENGTH) if is_cut_length else tuple(flaws)


def _find_owed(there: WritableStreams, code: int, payload: bytes) -> Owed:
    if code not in commands.COMMANDS:
        return replace(_MALFORMED, flaw=UNKNOWN_CODE)
    if code == commands.LOGIN_USER:
        return _MALFORMED
    read = _read(code, payload)
    if read is None:
        return _DOUBTFUL
    if isinstance(read, WireError):
        return replace(_MALFORMED, flaw=flaw_of_payload(code, read))
    if code == commands.PING:
        return _DONE
    if isinstance(read, SendMessages):
        return _find_owed_by_send(there, read)
    return _DOUBTFUL if code in _MAKING else _executed(there)


def _executed(there: WritableStreams) -> Owed:
    """Return what is owed for a valid request that may be refused for what is not there."""
    return _DOUBTFUL if there.closes_refused else _EXECUTED


@lru_cache(maxsize=2048)
def _read(code: int, payload: bytes) -> Payload | WireError | None:
    """Decode a payload; return None when servers may disagree about its validity."""
    try:
        return decode(payload_schema(code), payload)
    except WireError as error:
        # What stands behind a request that is otherwise right, some servers never look at.
        return None if error.field == "end" else error
    except LookupError:
        return None


def _find_owed_by_send(there: WritableStreams, request: SendMessages) -> Owed:
    is_read = there.there.get((request.stream, request.topic))
    payloads = sum(len(message.payload) for message in request.messages)
    values = sum(len(h.value) for message in request.messages for h in message.headers)
    within = payloads <= limits.MAX_PAYLOADS_SIZE and values <= limits.MAX_HEADER_VALUES_SIZE
    doubled = any(
        len({h.key for h in message.headers}) < len(message.headers)
        for message in request.messages
    )
    if not within or doubled or request.partitioning.kind not in (1, 2, 3):
        return _DOUBTFUL
    if is_read is None or not is_first(request.partitioning):
        return _executed(there)
    kept = tuple(
        fingerprint_stored(message.id, message.headers, message.payload)
        for message in (request.messages if is_read else ())
    )
    if all(does_fit(h) for message in request.messages for h in message.headers):
        return Owed(OK, stored=kept, success=OK)
    return replace(_executed(there), stored=kept, success=OK)


def does_fit(header: Header) -> bool:
    """Return True if the value of a header fits its kind; else a server may refuse it."""
    try:
        header_value(header.kind, header.value)
    except WireError:
        return False
    return True


def is_first(partitioning: Partitioning) -> bool:
    """Return True if the partitioning selects the only partition of the topic."""
    if partitioning.kind == PARTITION_ID:
        return partitioning.value == FIRST_PARTITION
    return partitioning.kind == BALANCED or (
        partitioning.kind == MESSAGES_KEY and bool(partitioning.value)
    )
