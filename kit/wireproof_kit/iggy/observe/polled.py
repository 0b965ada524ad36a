"""Decodes the body of a poll response under the head that a run has bound.

Messages are also tried in the layout of before, so that a case learns what arrived, not only that
it is wrong. Other heads are tried only to bind one: `recognize_polled` takes the head under which
the declared number of messages fills the body exactly.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final, Literal, TypeAlias

from wireproof_kit.iggy.wire.answers import Answer, Done
from wireproof_spec.decoding import Schema
from wireproof_spec.iggy.message import MESSAGE, OLD_MESSAGE, Message, MessageReader
from wireproof_spec.iggy.states import STATES
from wireproof_spec.stream import NEED_MORE
from wireproof_spec.wire_error import WireError

Head: TypeAlias = Literal["count", "partition-offset-count", "none"]
Layout: TypeAlias = Literal["published", "old"]

COUNT: Final = "count"
PARTITION_OFFSET_COUNT: Final = "partition-offset-count"
HEAD_SIZES: Final[dict[Head, int]] = {"count": 4, "partition-offset-count": 16, "none": 0}
COUNT_SIZE = 4
# More than twice what the greatest poll of a case asks for: reading them takes time.
MOST_MESSAGES = 300
LAYOUTS: Final[dict[Layout, Schema[Message]]] = {"published": MESSAGE, "old": OLD_MESSAGE}


@dataclass(frozen=True, slots=True)
class PolledMessage:
    """A polled message, its bytes, and its offset in the response body.

    ``step`` is the index of the transcript's step that recorded the response.
    """

    message: Message
    raw: bytes
    position: int
    step: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Polled:
    """The decoded response to a poll.

    ``declared`` is the number of messages that the response's head states, ``seen`` are the
    messages, ``size`` is the body's length in bytes. ``fault`` says why the body could not be
    decoded. If the response is not a success, only ``answer`` is set.
    """

    answer: Answer
    head: Head | None = None
    layout: Layout | None = None
    declared: int | None = None
    seen: tuple[PolledMessage, ...] = ()
    fault: WireError | None = None
    size: int = 0

    @property
    def step(self) -> int | None:
        """Return the index of the transcript's step that recorded the response."""
        return self.answer.step

    @property
    def messages(self) -> tuple[Message, ...]:
        """Return the decoded messages without their positions."""
        return tuple(each.message for each in self.seen)

    @property
    def is_readable(self) -> bool:
        """Return True if the response was a success and its body could be decoded."""
        return isinstance(self.answer, Done) and self.fault is None


def read_polled(answer: Answer, head: Head = COUNT) -> Polled:
    """Decode the response to a poll with this head."""
    return _choose(answer, [head])


def recognize_polled(answer: Answer) -> Polled:
    """Decode the response to a poll with the head that fits it best.

    A message with an undefined state speaks against a head, and so does a wrong number of them.
    """
    return _choose(answer, [*HEAD_SIZES])


def _choose(answer: Answer, heads: Sequence[Head]) -> Polled:
    if not isinstance(answer, Done):
        return Polled(answer)
    tried = [_read(answer, head, layout) for layout in LAYOUTS for head in heads]
    readable = [polled for polled in tried if polled.fault is None]
    agreeing = [polled for polled in readable if polled.declared in (None, len(polled.seen))]
    known = [polled for polled in agreeing if _has_known_states(polled)]
    return (known or agreeing or readable or tried)[0]


def _has_known_states(polled: Polled) -> bool:
    return all(message.state is None or message.state in STATES for message in polled.messages)


def join_polled(first: Polled, following: Polled) -> Polled:
    """Return two poll responses as one, with the messages of both and the sum of their counts."""
    declared = None
    if first.declared is not None and following.declared is not None:
        declared = first.declared + following.declared
    return replace(following, declared=declared, seen=first.seen + following.seen)


def _read(answer: Done, head: Head, layout: Layout) -> Polled:
    body, size = answer.body, HEAD_SIZES[head]
    if len(body) < size:
        fault = WireError(
            clause="iggy.poll.head",
            field="head",
            offset=0,
            expected=f"{size} bytes",
            found=str(len(body)),
        )
        return Polled(answer, head, layout, fault=fault, size=len(body))
    declared = int.from_bytes(body[size - COUNT_SIZE : size], "little") if size else None
    if declared is not None and declared > len(body) - size:
        fault = WireError(
            clause="iggy.poll.count",
            field="count",
            offset=size - COUNT_SIZE,
            expected=f"no more messages than the {len(body) - size} bytes that follow",
            found=str(declared),
        )
        return Polled(answer, head, layout, declared, fault=fault, size=len(body))
    try:
        walked = walk(body[size:], LAYOUTS[layout], base=size)
        seen = tuple(replace(each, step=answer.step) for each in _take_bounded(walked))
    except WireError as error:
        fault = error.at(size)
        return Polled(answer, head, layout, declared, fault=fault, size=len(body))
    return Polled(answer, head, layout, declared, seen, size=len(body))


def _take_bounded(messages: Iterator[PolledMessage]) -> tuple[PolledMessage, ...]:
    seen = tuple(islice(messages, MOST_MESSAGES))
    following = next(messages, None)
    if following is None:
        return seen
    raise WireError(
        clause="iggy.poll.count",
        field="messages",
        offset=0,
        expected=f"at most {MOST_MESSAGES} messages",
        found="more",
    )


def walk(
    data: bytes, schema: Schema[Message] = MESSAGE, *, base: int = 0
) -> Iterator[PolledMessage]:
    """Decode consecutive messages up to the last byte.

    ``base`` is added to each message's offset in ``data`` to give its position.

    Raises:
        WireError: a message breaks the layout, or the bytes end inside a message.
    """
    reader = MessageReader(len(data), schema=schema)
    reader.feed(data)
    while True:
        start = reader.offset
        message = reader.next_message()
        if message is NEED_MORE:
            break
        yield PolledMessage(message, data[start : reader.offset], base + start)
    reader.finish()
