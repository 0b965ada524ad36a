"""Faults of where polls begin and of stored consumer offsets."""

from wireproof_reference_impl.faults import Change, list_faults, setting
from wireproof_reference_impl.iggy.core.connection import Connection
from wireproof_reference_impl.iggy.faulty.effect import frames
from wireproof_reference_impl.iggy.faulty.ways import boundary, condition, missing, wrong_value
from wireproof_reference_impl.iggy.streams.partition import Partition
from wireproof_reference_impl.iggy.streams.strategy import STARTS, Start, at_timestamp
from wireproof_reference_impl.iggy.wire import message_json
from wireproof_reference_impl.iggy.wire.message import Message
from wireproof_reference_impl.iggy.wire.requests import PollMessages
from wireproof_reference_impl.iggy.wire.status import PARTITION_NOT_FOUND, Refusal, invalid_command
from wireproof_reference_impl.overrides import Original, around
from wireproof_reference_impl.preset import Effect
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


def _every(change: Start) -> Settings:
    """Return settings under which each poll first runs a check."""

    def look(start: Start) -> Start:
        def begin(partition: Partition, request: PollMessages) -> int | None:
            change(partition, request)
            return start(partition, request)

        return begin

    return {"poll.starts": {strategy: look(start) for strategy, start in STARTS.items()}}


def _behind_time(partition: Partition, request: PollMessages) -> int | None:
    start = at_timestamp(partition, request)
    return None if start is None else start + 1


@boundary("poll.strategy-timestamp")
def poll_behind_time() -> Change:
    """A poll by timestamp begins one message too late."""
    return {"poll.starts": {**STARTS, TIMESTAMP: _behind_time}}


def _first_by_value(partition: Partition, request: PollMessages) -> int | None:
    return request.value


@condition("poll.strategy-first http.poll")
def poll_first_by_value() -> Change:
    """A poll for the first messages begins at the offset in its value field."""
    return {"poll.starts": {**STARTS, FIRST: _first_by_value}}


def _not_empty(partition: Partition, request: PollMessages) -> None:
    if not partition.count:
        raise Refusal(PARTITION_NOT_FOUND, "There is nothing in the partition")


@missing("poll.empty")
def poll_empty_refused() -> Change:
    """A poll of an empty partition is refused."""
    return Effect(_every(_not_empty))


@missing("state.unknown-alone", _every)
def unknown_state_spoils_all(partition: Partition, request: PollMessages) -> None:
    """One message in an unknown state makes every poll of its partition an error."""
    if any(partition.get_stored(offset).state not in STATES for offset in range(partition.count)):
        raise invalid_command()


@boundary("state.unknown", setting("log.is_known"))
def state_zero_known(message: Message) -> bool:
    """Messages in the unknown state 0 are delivered; other unknown states are errors."""
    return message.state in STATES or not message.state


@wrong_value("poll.stored-offset disk.offsets", frames)
def stored_offsets_even(connection: Connection, code: int, payload: bytes) -> bytes:
    """Consumer offsets are stored without their lowest bit."""
    if code != commands.STORE_CONSUMER_OFFSET or len(payload) < _OFFSET_BYTES:
        return payload
    offset = int.from_bytes(payload[-_OFFSET_BYTES:], "little") & ~1
    return payload[:-_OFFSET_BYTES] + offset.to_bytes(_OFFSET_BYTES, "little")


@condition("poll.consumer", frames)
def consumers_one(connection: Connection, code: int, payload: bytes) -> bytes:
    """All consumers share one stored offset."""
    if code not in _OF_CONSUMERS or payload[:1] != bytes([CONSUMER_KIND]):
        return payload
    return payload[: _CONSUMER.start] + _ONE + payload[_CONSUMER.stop :]


@missing("poll.group", frames)
def join_not_done(connection: Connection, code: int, payload: bytes) -> bytes | None:
    """Joining a consumer group is answered with ok but has no effect."""
    return None if code == commands.JOIN_CONSUMER_GROUP else payload


@boundary("http.offsets", around(message_json, "offset_object"))
def json_stored_offset_high(original: Original, consumer: int, stored: int | None) -> object:
    """A stored consumer offset is one too high over HTTP."""
    return original(consumer, (stored or 0) + 1)


FAULTS = list_faults(__name__)
