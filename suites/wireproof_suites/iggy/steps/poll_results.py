"""Polls of some of the stored messages, and comparison with the messages that are due."""

from collections.abc import Sequence
from dataclasses import replace

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.iggy.observe.observations import (
    AS_SENT,
    MISSING,
    observe_messages,
    observe_unread,
)
from wireproof_kit.iggy.observe.polled import Polled
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.topics import Topic
from wireproof_kit.iggy.wire.payloads import POLLING, Polling
from wireproof_kit.observation import Observation, observed, with_evidence
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_suites.iggy.steps.message_contents import make_numbered

AS_ASKED = "delivered:as-asked"
NONE = "delivered:none"


def send_and_check(
    server: Server,
    topic: Topic,
    count: int,
    *,
    partition: int | None = None,
    one_by_one: bool = False,
) -> tuple[SentMessage, ...]:
    """Send numbered messages, and return them in stored order once all of them can be polled.

    Raises:
        ArrangementFailed: not all of them can be polled.
    """
    sent = make_numbered(count, first=1 + 1000 * (partition or topic.partition))
    for each in [[one] for one in sent] if one_by_one else [sent]:
        server.send_accepted(topic, *each, partition=partition)
    polled = server.poll_until(topic, count, Polling(partition=partition, count=count))
    if not polled.is_readable or len(polled.seen) != count:
        raise ArrangementFailed(f"of {count} messages {len(polled.seen)} could be polled")
    order = [message.payload for message in polled.messages]
    if sorted(order) != sorted(each.payload for each in sent):
        return sent
    return tuple(sorted(sent, key=lambda each: order.index(each.payload)))


def offsets_of(
    server: Server, topic: Topic, count: int, *, partition: int | None = None
) -> list[int]:
    """Return the offsets of the first `count` messages of a partition, by polling them.

    No text says where offsets begin.

    Raises:
        ArrangementFailed: not as many can be polled.
    """
    polled = server.poll_until(topic, count, Polling(partition=partition, count=count))
    if len(polled.seen) != count:
        raise ArrangementFailed(f"of {count} messages {len(polled.seen)} could be polled")
    return [message.offset for message in polled.messages]


def observe_beginning(polled: Polled, due: Sequence[SentMessage]) -> Observation:
    """Compare polled messages, at least one, with the first ones of those that are due."""
    return observe_asked(polled, due[: max(1, len(polled.seen))])


@with_evidence
def observe_asked(polled: Polled, due: Sequence[SentMessage]) -> Observation:
    """Compare polled messages with the messages that are due, all of which are known to be stored.

    The observation is ``delivered:as-asked``, ``delivered:none``, ``delivered:fewer``,
    ``delivered:more``, or names the first field that differs.
    """
    unread = observe_unread(polled)
    if unread is not None:
        return unread
    if not polled.seen and due:
        return observed(NONE)
    seen = observe_messages(polled, due)
    words = {AS_SENT: AS_ASKED, MISSING: "delivered:fewer"}
    return replace(seen, value=words.get(seen.value, seen.value), overdue=False)


@with_evidence
def observe_nothing(polled: Polled) -> Observation:
    """Return whether a poll returned no message: ``delivered:none``, or ``delivered:some``."""
    unread = observe_unread(polled)
    if unread is not None:
        return unread
    return observed("delivered:some" if polled.seen else NONE)


def ask(
    server: Server, topic: Topic, due: Sequence[SentMessage], polling: Polling = POLLING
) -> Observation:
    """Poll once, and compare the polled messages with the messages that are due."""
    return observe_asked(server.poll(topic, polling), due)
