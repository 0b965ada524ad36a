"""Segments on disk: the log as polled, its indexes, names, and stored offsets."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.iggy.observe.observations import MISSING, as_set, difference_of, observe_unread
from wireproof_kit.iggy.observe.polled import Polled, PolledMessage, walk
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.topics import Topic
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_kit.runner.patience import REDELIVERY
from wireproof_kit.wire.waiting import until
from wireproof_spec.decoding import decode
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.segment import POSITION_INDEX, TIME_INDEX
from wireproof_spec.wire_error import WireError
from wireproof_suites.iggy.steps.message_contents import (
    HEADER_SETS,
    PAYLOADS,
    make_numbered,
    make_payload,
    message,
)
from wireproof_suites.iggy.steps.stored_states import (
    EVERY_STATE,
    NOT_SET,
    WITHHELD,
    is_withheld,
    set_states,
)

AS_POLLED = "stored:as-polled"
GROWING = tuple(message(make_payload(1 + 100 * n), id=n + 1) for n in range(10))


@case("iggy/disk/layout", clause="iggy.disk.same-layout")
@pytest.mark.parametrize("headers", HEADER_SETS.values(), ids=HEADER_SETS)
def test_layout(server: Server, topic: Topic, headers: tuple[Header, ...]) -> Observation:
    """The log file holds messages back to back, with the same bytes as a poll returns."""
    sent = [SentMessage(n, headers, payload) for n, payload in enumerate(PAYLOADS.values())]
    polled = server.sent_and_polled(topic, *sent)

    return _as_polled(server, topic, polled)


@case("iggy/disk/layout/sent-one-by-one", clause="iggy.disk.same-layout")
def test_layout_of_several_requests(server: Server, topic: Topic) -> Observation:
    """The log file holds messages of separate requests with the same bytes as a poll returns."""
    for each in GROWING:
        server.send_accepted(topic, each)

    return _as_polled(server, topic, server.poll_until(topic, len(GROWING)))


@case("iggy/disk/layout/state", clause="iggy.disk.same-layout", needs=("control",))
@pytest.mark.parametrize("state", EVERY_STATE.values(), ids=EVERY_STATE)
def test_layout_with_state(server: Server, topic: Topic, state: int) -> Observation:
    """If a poll returns a message with a changed state, the log file holds the same bytes."""
    before = server.sent_and_polled(topic, *make_numbered(3))
    if len(before.seen) < 3:
        return observe_unread(before) or observed(MISSING, overdue=True)
    if not set_states(server, topic, {1: state}):
        return observed(NOT_SET)
    polled = server.poll(topic)
    if is_withheld(state, polled, 3):
        return observed(WITHHELD)

    return _as_polled(server, topic, polled)


@case("iggy/disk/index", clause="iggy.disk.index")
def test_index(server: Server, topic: Topic) -> Observation:
    """The index file holds the position of each message in the log file."""
    polled = server.sent_and_polled(topic, *GROWING)
    unread = observe_unread(polled)
    if unread is not None or not polled.seen:
        return unread or observed(MISSING, overdue=True)
    starts = [seen.position - polled.seen[0].position for seen in polled.seen]

    return _index(server, topic, polled, "index", starts)


@case("iggy/disk/time-index", clause="iggy.disk.time-index")
def test_time_index(server: Server, topic: Topic) -> Observation:
    """The time index file holds the timestamp of each message."""
    polled = server.sent_and_polled(topic, *GROWING)
    unread = observe_unread(polled)
    if unread is not None or not polled.seen:
        return unread or observed(MISSING, overdue=True)

    return _index(server, topic, polled, "time-index", [m.timestamp for m in polled.messages])


@case("iggy/disk/name", clause="iggy.disk.names")
@pytest.mark.parametrize("partition", [1, 2])
def test_name(server: Server, partition: int) -> Observation:
    """The first segment of a partition is named after offset 0."""
    topic = server.new_topic(partitions=2)
    sent = make_numbered(3)
    server.send_accepted(topic, *sent, partition=partition)
    segments = server.disk.wait_for(topic, sent[-1].payload, partition)
    if not segments:
        return observed(MISSING, overdue=True)
    starts = [segment.start for segment in segments]
    holds = any(sent[0].payload in segment.log for segment in segments[:1])

    return observed("name:right" if starts[0] == 0 and holds else "name:other", note=str(starts))


@case("iggy/disk/offset", clause="iggy.disk.offsets")
@pytest.mark.parametrize("offset", [1, 4])
@pytest.mark.parametrize("consumer", [1, 4294967295])
def test_offset(server: Server, topic: Topic, offset: int, consumer: int) -> Observation:
    """A consumer's stored offset is written to that consumer's file as 8 bytes."""
    server.send_accepted(topic, *make_numbered(5))
    server.store_offset(topic, offset, consumer=consumer)
    data = server.disk.offset_file(topic, consumer)
    if not data:
        return observed(MISSING, overdue=True)
    right = offset.to_bytes(8, "little")
    difference = Difference("offset", 0, right.hex(" "), data.hex(" "))

    return (
        observed("offset:as-stored")
        if data == right
        else observed("offset:other", difference=difference)
    )


def _as_polled(server: Server, topic: Topic, polled: Polled) -> Observation:
    """Compare the log with the polled messages.

    The comparison waits until the log is as long as the poll, or until patience runs out.
    """
    unread = observe_unread(polled)
    if unread is not None or not polled.seen:
        return unread or observed(MISSING, overdue=True)
    seen = until(
        lambda: _find_torn(_observe_stored(server, topic, polled)),
        seconds=server.patience.seconds(REDELIVERY),
        every=0.05,
    )
    return seen or _observe_stored(server, topic, polled)


def _find_torn(seen: Observation) -> Observation | None:
    return seen if seen.value == AS_POLLED else None


def _observe_stored(server: Server, topic: Topic, polled: Polled) -> Observation:
    log = b"".join(segment.log for segment in server.disk.segments(topic))
    if not log:
        return observed(MISSING, overdue=True)
    try:
        found = list(walk(log))
    except WireError as error:
        return observed("stored:undecodable", difference=difference_of(error))
    if len(found) != len(polled.seen):
        return observed("stored:fewer", note=f"{len(found)} of {len(polled.seen)}")
    for due, seen in zip(polled.seen, found, strict=True):
        if not _is_same(due, seen):
            at, expected, there = _first_byte(due.raw, seen.raw)
            difference = Difference("message", seen.position + at, expected, there)
            return observed("stored:other", difference=difference)
    return observed(AS_POLLED)


def _is_same(polled: PolledMessage, stored: PolledMessage) -> bool:
    """Return whether a message is stored byte for byte as polled; headers may be in any order."""
    if len(polled.message.headers) < 2:
        return polled.raw == stored.raw
    a, b = polled.message, stored.message
    return (
        as_set(a.headers) == as_set(b.headers)
        and len(polled.raw) == len(stored.raw)
        and polled.raw[:41] == stored.raw[:41]
        and a.payload == b.payload
    )


def _first_byte(due: bytes, found: bytes) -> tuple[int, str, str]:
    shorter = min(len(due), len(found))
    at = next((n for n in range(shorter) if due[n] != found[n]), shorter)
    return at, due[at : at + 8].hex(" "), found[at : at + 8].hex(" ")


def _index(
    server: Server, topic: Topic, polled: Polled, which: str, due: list[int]
) -> Observation:
    """Compare an index once it has as many entries, or when patience has passed.

    A server may write it after the log.
    """
    if not server.disk.wait_for(topic, polled.messages[-1].payload):
        return observed(MISSING, overdue=True)
    seen = until(
        lambda: _complete(_observe_index(server, topic, which, due)),
        seconds=server.patience.seconds(REDELIVERY),
        every=0.05,
    )
    return seen or _observe_index(server, topic, which, due)


def _complete(seen: Observation) -> Observation | None:
    return None if seen.value in ("index:fewer", "index:undecodable") else seen


def _observe_index(server: Server, topic: Topic, which: str, due: list[int]) -> Observation:
    found: list[int] = []
    try:
        for segment in server.disk.segments(topic):
            if which == "index":
                found += decode(POSITION_INDEX, segment.index).positions
            else:
                found += decode(TIME_INDEX, segment.time_index).timestamps
    except WireError as error:
        return observed("index:undecodable", difference=difference_of(error))
    if found == due:
        return observed("index:right")
    if len(found) < len(due):
        return observed("index:fewer", note=f"{len(found)} of {len(due)}")
    difference = Difference(which, None, str(due[:4]), str(found[:4]))
    return observed("index:other", difference=difference)
