"""The corners of NSQ: the circumstances in which a fault may be wrong alone."""

from collections.abc import Callable

from wireproof_reference_impl import corners
from wireproof_reference_impl.corners import Corners, where
from wireproof_reference_impl.nsq.behaviour import Behaviour
from wireproof_reference_impl.nsq.core.topic import Topic
from wireproof_reference_impl.nsq.faulty.circumstances import (
    CONTEXT,
    NOTES,
    Circumstances,
    is_note,
)
from wireproof_reference_impl.nsq.wire.message import NewMessage

Holds = corners.Holds[Circumstances]

_LARGE_BODY = 60_000
_SMALL_BODY = 2
_LARGE_HEADER = 4_000
_MANY = 9
_HALF = 1 << 32


def _partition(wanted: Callable[[int], bool]) -> Holds:
    return where(lambda now: now.partition, lambda partition: wanted(partition.number))


def _topic(*, extend: bool, upgraded: bool = False) -> Holds:
    def is_wanted(topic: Topic) -> bool:
        return (topic.extend, topic.extend and not topic.born_extend) == (extend, upgraded)

    return where(lambda now: now.topic, is_wanted)


def _path(wanted: str) -> Holds:
    return where(lambda now: now.path, lambda path: path == wanted)


def _client(wanted: Callable[[int], bool]) -> Holds:
    return where(lambda now: now.client, wanted)


def _delivery(wanted: str) -> Holds:
    return where(lambda now: now.delivery, lambda delivery: delivery == wanted)


def _entry(wanted: Callable[[NewMessage], bool]) -> Holds:
    return where(lambda now: now.entry, wanted)


def _blank_ends(body: bytes) -> bool:
    return body != body.strip()


def _upper_names(entry: NewMessage) -> bool:
    names = (entry.header or b"").split(b'":')
    return any(name.rpartition(b'"')[2] != name.rpartition(b'"')[2].lower() for name in names)


def _upper_tag(entry: NewMessage) -> bool:
    return entry.tag is not None and entry.tag != entry.tag.lower()


def _blank_tag(entry: NewMessage) -> bool:
    return entry.tag is not None and entry.tag != entry.tag.strip()


def _trace(wanted: Callable[[int], bool]) -> Holds:
    return where(lambda now: now.trace_id, wanted)


def _equal_halves(trace_id: int) -> bool:
    high, low = divmod(trace_id, _HALF)
    return bool(high) and high == low


CORNERS: dict[str, Holds] = {
    "partition=zero": _partition(lambda number: number == 0),
    "partition=last": _partition(lambda number: number > 0),
    "partition=third": _partition(lambda number: number > 1),
    "path=tcp": _path("tcp"),
    "path=http": _path("http"),
    "trace=traced": _trace(lambda trace_id: trace_id != 0),
    "trace=untraced": _trace(lambda trace_id: trace_id == 0),
    "topic=plain": _topic(extend=False),
    "topic=ext": _topic(extend=True),
    "topic=upgraded": _topic(extend=True, upgraded=True),
    "client=first": _client(lambda ordinal: ordinal == 1),
    "client=second": _client(lambda ordinal: ordinal == 2),
    "client=later": _client(lambda ordinal: ordinal > 2),
    "delivery=first": _delivery("first"),
    "delivery=requeued": _delivery("requeued"),
    "delivery=timed-out": _delivery("timed-out"),
    "delivery=next-client": _delivery("next-client"),
    "value=body-small": _entry(lambda entry: len(entry.body) <= _SMALL_BODY),
    "value=body-large": _entry(lambda entry: len(entry.body) >= _LARGE_BODY),
    "value=body-blank-ends": _entry(lambda entry: _blank_ends(entry.body)),
    "value=header-large": _entry(lambda entry: len(entry.header or b"") >= _LARGE_HEADER),
    "value=names-upper-case": _entry(_upper_names),
    "value=tag-upper-case": _entry(_upper_tag),
    "value=tag-blank-ends": _entry(_blank_tag),
    "value=trace-equal-halves": _trace(_equal_halves),
    "value=trace-top-bit": _trace(lambda trace_id: trace_id >> 63 == 1),
    "number=one": where(lambda now: now.number, lambda number: number == 0),
    "number=many": where(lambda now: now.number, lambda number: number >= _MANY),
    "clients=one": where(lambda now: now.clients, lambda count: count == 1),
    "clients=several": where(lambda now: now.clients, lambda count: count > 1),
    "connection=again": lambda now: now.is_again,
}

RESTRICTED = Corners(CORNERS, CONTEXT, behaviour=Behaviour(), notes=NOTES, is_note=is_note)
