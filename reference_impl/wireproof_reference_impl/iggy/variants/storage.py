"""Variants of stored and polled messages, and of connections over TCP."""

import random
from collections.abc import Mapping, Sequence
from itertools import count, cycle

from msgspec.structs import replace

from wireproof_reference_impl.iggy.choices import number
from wireproof_reference_impl.iggy.generations import TAGGED_SETTINGS
from wireproof_reference_impl.iggy.streams.partitioning import chosen_partition
from wireproof_reference_impl.iggy.streams.topic import Topic
from wireproof_reference_impl.iggy.wire import framing
from wireproof_reference_impl.iggy.wire.header import Headers
from wireproof_reference_impl.iggy.wire.message import Message, record
from wireproof_reference_impl.iggy.wire.message_json import message_object
from wireproof_reference_impl.iggy.wire.requests import Partitioning
from wireproof_reference_impl.iggy.wire.status import INVALID_OFFSET, Refusal
from wireproof_reference_impl.preset import Preset, variant
from wireproof_reference_impl.settings import Settings
from wireproof_spec.iggy.kinds import BALANCED
from wireproof_spec.iggy.states import AVAILABLE

_HOUR_US = 3_600_000_000
_SLOW_MS = 30
_HEAD_BYTES = 8
_SMALL_BYTES = 300
_FIRST_CLIENT = 3 << 30


def _head_apart(data: bytes) -> Sequence[bytes]:
    return [each for each in (data[:_HEAD_BYTES], data[_HEAD_BYTES:]) if each]


def _always_slow() -> int:
    return _SLOW_MS


def _clients_counted() -> Settings:
    """Return settings under which client ids are counted."""
    numbers = cycle(range(_FIRST_CLIENT, 1 << 32))

    def number_client(address: str) -> int:
        return next(numbers)

    return {"framing.client_id": number_client}


def _greatest_ids() -> Settings:
    """Return settings under which generated ids count down from the greatest."""
    numbers = count((1 << 128) - 2, -1)
    return number("log.new_id", lambda random: next(numbers))


def _headers_shuffled() -> Settings:
    """Return settings under which headers come in a random order in each poll."""
    dice = random.Random(1)

    def shuffle(headers: Headers | None) -> Headers | None:
        return headers and dict(dice.sample([*headers.items()], len(headers)))

    def layout(message: Message) -> bytes:
        return record(replace(message, headers=shuffle(message.headers)))

    def write_shuffled(message: Message) -> Mapping[str, object]:
        return message_object(replace(message, headers=shuffle(message.headers)))

    return {"message.layout": layout, "json.message": write_shuffled}


def _sorted_record(message: Message) -> bytes:
    headers = message.headers and dict(sorted(message.headers.items()))
    return record(replace(message, headers=headers))


def _no_headers_as_none(headers: Headers | None) -> Headers | None:
    return headers or None


def _from_the_last(topic: Topic, partitioning: Partitioning) -> int:
    """Return the partition of a request; balanced ones take turns from the last partition on."""
    chosen = chosen_partition(topic, partitioning)
    return chosen - 1 or len(topic.partitions) if partitioning.kind == BALANCED else chosen


def _only_available(messages: list[Message]) -> list[Message]:
    return [message for message in messages if message.state == AVAILABLE]


def _must_be_stored(offset: int | None) -> int | None:
    if offset is None:
        raise Refusal(INVALID_OFFSET, "Invalid offset: none was stored")
    return offset


def _take_tagged(*names: str) -> Settings:
    """Return these settings of the tagged generation."""
    return {name: TAGGED_SETTINGS[name] for name in names}


VARIANTS: tuple[Preset, ...] = (
    variant(
        "head-apart",
        "the first 8 bytes of an answer and the rest are written separately",
        {"pacing.pieces": _head_apart},
    ),
    variant(
        "always-slow",
        "every write is 30 ms late, so that answers to pipelined requests come together",
        {"pacing.delay_ms": _always_slow},
    ),
    variant(
        "answered-then-closed",
        "a malformed frame is answered with a status, and then the connection is closed",
        {"framing.unreadable": framing.answer_refusal, "framing.goes_on": False},
    ),
    variant(
        "trailing-refused",
        "a poll request with extra bytes after its fields is refused",
        {"poll.takes_trailing": False},
    ),
    variant(
        "clients-counted",
        "client ids are large numbers that count up",
        _clients_counted(),
    ),
    variant(
        "ids-greatest",
        "the server generates message ids by counting down from the greatest of 128 bits",
        _greatest_ids(),
    ),
    variant(
        "repeated-ids-dropped",
        "of messages with the same id, a partition stores only the first",
        {"log.repeats": False},
    ),
    variant(
        "clock-behind",
        "timestamps of messages are an hour behind",
        number("log.timestamp", lambda timestamp: timestamp - _HOUR_US),
    ),
    variant(
        "clock-of-milliseconds",
        "timestamps are whole milliseconds, so that messages may have the same one",
        number("log.timestamp", lambda timestamp: timestamp - timestamp % 1000),
    ),
    variant(
        "headers-shuffled",
        "headers come in another order in each poll, as from the measured server",
        _headers_shuffled(),
    ),
    variant(
        "headers-sorted-on-disk",
        "in log files, headers are sorted by key, whatever their order over TCP",
        {"log.record": _sorted_record},
    ),
    variant(
        "headers-empty-as-none",
        "an empty set of headers is stored as no headers",
        {"log.headers": _no_headers_as_none},
    ),
    variant(
        "balanced-from-the-last",
        "balanced requests to send take turns beginning with the last partition",
        {"store.choose": _from_the_last},
    ),
    variant(
        "only-available-delivered",
        "a poll leaves out messages whose state is not `available`",
        {"poll.delivered": _only_available},
    ),
    variant(
        "never-stored-refused",
        "a request for an offset that was never stored is refused",
        {"poll.stored": _must_be_stored},
    ),
    variant(
        "segments-small",
        "a new segment is begun after 300 bytes, so that a topic has many",
        number("log.segment_size", lambda size: min(size, _SMALL_BYTES)),
    ),
    variant(
        "names-as-given",
        "stream and topic names keep upper case and blanks, as in the tagged generation",
        _take_tagged("store.name"),
    ),
)
