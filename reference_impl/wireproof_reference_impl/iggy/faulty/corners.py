"""The corners of Iggy: the circumstances in which a fault may be wrong alone."""

from collections.abc import Callable

from wireproof_reference_impl import corners
from wireproof_reference_impl.corners import Corners, where
from wireproof_reference_impl.iggy.behaviour import Behaviour
from wireproof_reference_impl.iggy.faulty.circumstances import (
    CONTEXT,
    NOTES,
    Circumstances,
    is_note,
)
from wireproof_reference_impl.iggy.wire.message import Message, Sent
from wireproof_reference_impl.iggy.wire.requests import PollMessages
from wireproof_spec.iggy.kinds import CONSUMER_KIND, GROUP_KIND, STRATEGIES

Holds = corners.Holds[Circumstances]

_LARGE_PAYLOAD = 60_000
_SMALL_PAYLOAD = 2
_MANY = 9


def _partition(wanted: Callable[[int], bool]) -> Holds:
    return where(lambda now: now.partition, wanted)


def _path(wanted: str) -> Holds:
    return where(lambda now: now.path, lambda path: path == wanted)


def _poll(wanted: Callable[[PollMessages], bool]) -> Holds:
    return where(lambda now: now.poll, wanted)


def _strategy(code: int) -> Holds:
    return _poll(lambda poll: poll.strategy == code)


def _content(wanted: Callable[[Message | Sent], bool]) -> Holds:
    def holds(now: Circumstances) -> bool | None:
        content = now.content
        return None if content is None else wanted(content)

    return holds


CORNERS: dict[str, Holds] = {
    "partition=first": _partition(lambda number: number == 1),
    "partition=last": _partition(lambda number: number > 1),
    "path=tcp": _path("tcp"),
    "path=http": _path("http"),
    "poll=first": where(lambda now: now.polls, lambda count: count == 1),
    "poll=again": where(lambda now: now.polls, lambda count: count > 1),
    **{f"strategy={name}": _strategy(code) for code, name in STRATEGIES.items()},
    "consumer=one": _poll(lambda poll: poll.consumer.kind == CONSUMER_KIND),
    "consumer=group": _poll(lambda poll: poll.consumer.kind == GROUP_KIND),
    "commit=no": _poll(lambda poll: not poll.auto_commit),
    "commit=yes": _poll(lambda poll: poll.auto_commit),
    "batch=one": where(lambda now: now.batch, lambda count: count == 1),
    "batch=several": where(lambda now: now.batch, lambda count: count > 1),
    "number=one": where(lambda now: now.number, lambda count: count == 0),
    "number=many": where(lambda now: now.number, lambda count: count >= _MANY),
    "request=first": where(lambda now: now.requests, lambda count: count <= 1),
    "request=later": where(lambda now: now.requests, lambda count: count > 1),
    "value=payload-small": _content(lambda each: len(each.payload) <= _SMALL_PAYLOAD),
    "value=payload-large": _content(lambda each: len(each.payload) >= _LARGE_PAYLOAD),
    "value=id-generated": lambda now: now.generated,
    "value=id-large": _content(lambda each: each.id >> 64 > 0),
    "value=headers-none": _content(lambda each: not each.headers),
    "value=headers-many": _content(lambda each: len(each.headers or ()) >= _MANY),
}
"""When a corner is entered, by `dimension=value`; None where the circumstances do not tell."""

RESTRICTED = Corners(CORNERS, CONTEXT, behaviour=Behaviour(), notes=NOTES, is_note=is_note)
