"""Alternatives of what counts messages: offsets, sizes, internal ids and timestamps."""

from collections.abc import Callable, Sequence
from itertools import count

from wireproof_reference_impl.nsq.core.topic import Partition
from wireproof_reference_impl.nsq.requests import http_header
from wireproof_reference_impl.nsq.wire import packed
from wireproof_reference_impl.nsq.wire.message import Message, PublishResult
from wireproof_reference_impl.overrides import Original, around, replace_function
from wireproof_reference_impl.preset import Preset, alternative
from wireproof_reference_impl.settings import Settings

Place = tuple[int, int]
Move = Callable[[int, int, int], Place]

_LENGTH_BYTES = 4
_HEAD_BYTES = 30
_MILLISECOND = 1_000_000
_EVERY_ID = count(1)


def _move_positions(move: Move) -> Settings:
    """Return settings that change offset and size of a message in every answer and delivery.

    `move` takes the internal id, the offset and the size of a record; it returns offset and size.
    """

    def traced(stored: PublishResult) -> bytes:
        offset, size = move(stored.internal_id, stored.offset, stored.size)
        return packed.trace_response(stored.internal_id, stored.trace_id, offset=offset, size=size)

    def position(message: Message) -> bytes:
        return packed.position(*move(message.internal_id, message.offset, message.size))

    def answered(stored: PublishResult) -> dict[str, object]:
        offset, size = move(stored.internal_id, stored.offset, stored.size)
        return http_header.trace_answer(stored._replace(offset=offset, size=size))

    return {
        "publish.trace_response": traced,
        "publish.ext_trace_response": traced,
        "delivery.position": position,
        "http.trace_answer": answered,
    }


def _far_apart(internal_id: int, offset: int, size: int) -> Place:
    return 3 * offset + 7, size


def _by_message(internal_id: int, offset: int, size: int) -> Place:
    return internal_id, size


def _without_length(internal_id: int, offset: int, size: int) -> Place:
    return offset, size - _LENGTH_BYTES


def _without_head(internal_id: int, offset: int, size: int) -> Place:
    return offset, size - _HEAD_BYTES


def _pad(internal_id: int, offset: int, size: int) -> Place:
    return offset, size + 12


def _ids_of_the_node(partition: Partition, number: int) -> Sequence[int]:
    return [next(_EVERY_ID) for _ in range(number)]


def _coarse(original: Original, partition: Partition, entries: object, now_ns: int) -> object:
    return original(partition, entries, now_ns - now_ns % _MILLISECOND)


ALTERNATIVES: tuple[Preset, ...] = (
    alternative(
        "offsets-far-apart",
        "the offset of the next record is greater than offset plus size of the one before",
        _move_positions(_far_apart),
    ),
    alternative(
        "offsets-by-message",
        "offsets count messages, not bytes",
        _move_positions(_by_message),
    ),
    alternative(
        "sizes-without-length",
        "the size of a record does not count its 4-byte length",
        _move_positions(_without_length),
    ),
    alternative(
        "sizes-without-head",
        "the size of a record counts neither its length nor timestamp, attempts and id",
        _move_positions(_without_head),
    ),
    alternative(
        "sizes-padded",
        "the size of a record counts 12 bytes of the queue's own behind it",
        _move_positions(_pad),
    ),
    alternative(
        "ids-by-node",
        "all partitions of a node take their internal ids from one sequence",
        overrides=(replace_function(Partition, "next_ids", _ids_of_the_node),),
        not_with="ids-high ids-by-partition id-gaps move-leaps-ids",
    ),
    alternative(
        "timestamps-coarse",
        "timestamps are whole milliseconds, counted in nanoseconds",
        overrides=(around(Partition, "publish", _coarse),),
    ),
)
