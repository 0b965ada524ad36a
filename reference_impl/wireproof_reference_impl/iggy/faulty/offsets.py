"""Faults of where polls begin and of stored consumer offsets."""

from wireproof_reference_impl.iggy.core.connection import Connection
from wireproof_reference_impl.iggy.faulty.effect import (
    ANSWERS,
    BINARY,
    JSON,
    boundary,
    condition,
    frames,
    make_overriding,
    missing,
    wrong_value,
)
from wireproof_reference_impl.iggy.streams.partition import Partition
from wireproof_reference_impl.iggy.streams.strategy import STARTS, Start, at_timestamp
from wireproof_reference_impl.iggy.wire import message_json
from wireproof_reference_impl.iggy.wire.message import Message
from wireproof_reference_impl.iggy.wire.requests import PollMessages
from wireproof_reference_impl.iggy.wire.status import PARTITION_NOT_FOUND, Refusal, invalid_command
from wireproof_reference_impl.overrides import Original, around
from wireproof_reference_impl.preset import (
    Preset,
)
from wireproof_reference_impl.settings import Settings
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.kinds import CONSUMER_KIND, FIRST, TIMESTAMP
from wireproof_spec.iggy.states import STATES

_OFFSET_BYTES = 8
_CONSUMER = slice(1, 5)
_ONE = (1).to_bytes(4, "little")
_OF_CONSUMERS = (
    commands.POLL_MESSAGES,
    commands.GET_CONSUMER_OFFSET,
    commands.STORE_CONSUMER_OFFSET,
)


def _behind_time(partition: Partition, request: PollMessages) -> int | None:
    start = at_timestamp(partition, request)
    return None if start is None else start + 1


def _first_by_value(partition: Partition, request: PollMessages) -> int | None:
    return request.value


def _every(change: Start) -> Settings:
    """Return settings under which each poll first runs a check."""

    def look(start: Start) -> Start:
        def begin(partition: Partition, request: PollMessages) -> int | None:
            change(partition, request)
            return start(partition, request)

        return begin

    return {"poll.starts": {strategy: look(start) for strategy, start in STARTS.items()}}


def _not_empty(partition: Partition, request: PollMessages) -> None:
    if not partition.count:
        raise Refusal(PARTITION_NOT_FOUND, "There is nothing in the partition")


def _every_state_known(partition: Partition, request: PollMessages) -> None:
    if any(partition.get_stored(offset).state not in STATES for offset in range(partition.count)):
        raise invalid_command()


def _known_or_zero(message: Message) -> bool:
    return message.state in STATES or not message.state


def _even(connection: Connection, code: int, payload: bytes) -> bytes:
    if code != commands.STORE_CONSUMER_OFFSET or len(payload) < _OFFSET_BYTES:
        return payload
    offset = int.from_bytes(payload[-_OFFSET_BYTES:], "little") & ~1
    return payload[:-_OFFSET_BYTES] + offset.to_bytes(_OFFSET_BYTES, "little")


def _one_consumer(connection: Connection, code: int, payload: bytes) -> bytes:
    if code not in _OF_CONSUMERS or payload[:1] != bytes([CONSUMER_KIND]):
        return payload
    return payload[: _CONSUMER.start] + _ONE + payload[_CONSUMER.stop :]


def _join_not_done(connection: Connection, code: int, payload: bytes) -> bytes | None:
    return None if code == commands.JOIN_CONSUMER_GROUP else payload


def _one_too_high(original: Original, consumer: int, stored: int | None) -> object:
    return original(consumer, (stored or 0) + 1)


FAULTS: tuple[Preset, ...] = (
    boundary(
        "poll-behind-time",
        "a poll by timestamp begins one message too late",
        {"poll.starts": {**STARTS, TIMESTAMP: _behind_time}},
        breaks="poll.strategy-timestamp",
        may_break="http.poll",
    ),
    condition(
        "poll-first-by-value",
        "a poll for the first messages begins at the offset in its value field",
        {"poll.starts": {**STARTS, FIRST: _first_by_value}},
        breaks="poll.strategy-first http.poll",
        may_break=f"{BINARY} {JSON}",
    ),
    missing(
        "poll-empty-refused",
        "a poll of an empty partition is refused",
        _every(_not_empty),
        breaks="poll.empty",
        may_break=f"{BINARY} {JSON} {ANSWERS} frame.malformed frame.response http.form",
        finds_nothing=True,
    ),
    missing(
        "unknown-state-spoils-all",
        "one message in an unknown state makes every poll of its partition an error",
        _every(_every_state_known),
        breaks="state.unknown-alone",
        may_break=f"{BINARY} {JSON}",
    ),
    boundary(
        "state-zero-known",
        "messages in the unknown state 0 are delivered; other unknown states are errors",
        {"log.is_known": _known_or_zero},
        breaks="state.unknown",
        may_break=f"{BINARY} {JSON}",
    ),
    wrong_value(
        "stored-offsets-even",
        "consumer offsets are stored without their lowest bit",
        frames(_even),
        breaks="poll.stored-offset disk.offsets",
        may_break="poll.consumer poll.strategy-next http.offsets status.refused poll.empty",
    ),
    condition(
        "consumers-one",
        "all consumers share one stored offset",
        frames(_one_consumer),
        breaks="poll.consumer",
        may_break="disk.offsets poll.stored-offset poll.strategy-next http.offsets",
    ),
    missing(
        "join-not-done",
        "joining a consumer group is answered with ok but has no effect",
        frames(_join_not_done),
        breaks="poll.group",
        may_break=ANSWERS,
    ),
    boundary(
        "json-stored-offset-high",
        "a stored consumer offset is one too high over HTTP",
        make_overriding(around(message_json, "offset_object", _one_too_high)),
        breaks="http.offsets",
    ),
)
