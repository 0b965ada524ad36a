"""A message in flight: its holder finishes it, it times out, and TOUCH gives more time."""

import time
from collections.abc import Callable

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.consumer import Consumer
from wireproof_kit.nsq.observe.delivery import Delivery
from wireproof_kit.nsq.observe.observations import observe
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire import frames
from wireproof_kit.nsq.wire.frames import Header, nop, touch
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_kit.runner.patience import PUSH, REDELIVERY, Wait
from wireproof_kit.wire.outgoing import Outgoing
from wireproof_suites.nsq.steps.publish_results import followed_by

Acknowledge = Callable[[bytes], Outgoing]

ACKNOWLEDGEMENTS: dict[str, Acknowledge] = {
    "finish": frames.fin,
    "requeue": lambda message_id: frames.req(message_id, 0),
    "touch": frames.touch,
}

TIMEOUT_S = 1.0
SOONER_MS, LATER_MS = 100, 1000
SOON = {"msg_timeout": 1000}
# Long enough before the time-out for TOUCH to arrive, and so long after the start that a time-out
# which was not renewed shows.
TOUCHED_AT_S = 0.5
IN_TIME_S = 0.8
EARLY_BY_S = 0.05
TAKEN_LATE_S = 0.2
"""How long after the broker sent a message the kit may take it."""
LONGER_S = 3
HONOURED_S = 30.0
"""A broker may look for what timed out every few seconds; its own time-out is a minute."""


def acknowledge_from_another(
    broker: Broker, holder: Consumer, held: Delivery, say: Acknowledge
) -> Observation:
    """Acknowledge a held message from another client; observe the answer and what becomes of it.

    ``kept``: the message comes to a third client. ``lost``: it does not. The holder is closed
    first, since a broker may wait for that or for the message's time-out.
    """
    topic = holder.topic
    other = broker.subscribe(topic, channel=holder.channel, ready=0).connection
    answer = other.ask(say(held.message_id or b""))
    seen = observe(answer, then=other.goes_on(topic))
    holder.close()
    return followed_by(seen, _comes_to_a_third(broker, holder, held))


def touch_and_wait(broker: Broker, topic: Topic) -> Observation:
    """Touch a held message before its time-out, and observe when the message comes again.

    ``renewed``: it comes again after a whole time-out counted from TOUCH. ``too-early``: it comes
    again sooner. ``no-time``: the machine was too slow to tell.
    """
    body = broker.unique_body()
    with broker.subscribe(topic, identify=SOON) as consumer:
        started = time.monotonic()
        broker.publish_accepted(topic, body)
        held = consumer.take(body)
        if held is None:
            return observed("missing", overdue=True)
        _pass_over_copies(consumer, body, until=started + TOUCHED_AT_S)
        said = time.monotonic()
        consumer.touch(held)
        broker.connect(topic=topic).close()  # by its answers the broker has read TOUCH, too
        heard = time.monotonic()
        again = consumer.take(body, REDELIVERY)
        passed = time.monotonic() - said
    if heard - started > IN_TIME_S:
        return observed("no-time")
    if again is None:
        return observed("missing", overdue=True)
    if passed < TIMEOUT_S - EARLY_BY_S:
        difference = Difference("time-out", None, f"{TIMEOUT_S} s after TOUCH", f"{passed:.2f} s")
        return observed("too-early", difference=difference)
    return observed("renewed")


def _pass_over_copies(consumer: Consumer, body: bytes | None = None, *, until: float) -> None:
    """Take what comes of a message, or of any, until a moment: it may be delivered twice."""
    while (left := until - time.monotonic()) > 0:
        if consumer.take(body, seconds=left) is None and consumer.ended:
            return


def _comes_to_a_third(broker: Broker, holder: Consumer, held: Delivery) -> Observation:
    third = broker.subscribe(holder.topic, channel=holder.channel)
    came = third.next(held.body, REDELIVERY)
    return observed("kept") if came else observed("lost", overdue=True)


@case("nsq/trace/timed-out/plain", clause="smart.connection.timed-out", waiting=True)
def test_timed_out(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """A message whose timeout ends without an answer is delivered again."""
    return _left_to_time_out(broker, fresh_plain_topic)


@case("nsq/trace/timed-out/ext", clause="smart.connection.timed-out", needs=("ext",), waiting=True)
def test_timed_out_with_header(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """A message of an ext topic whose timeout ends without an answer is delivered again."""
    return _left_to_time_out(broker, fresh_ext_topic, {"k": "v"})


@case("nsq/trace/timed-out/other-client", clause="smart.connection.timed-out", waiting=True)
def test_timed_out_to_another(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """A message that timed out at a client which is not ready goes to another client."""
    topic, body = fresh_plain_topic, broker.unique_body()
    with broker.subscribe(topic, identify=SOON) as holder:
        broker.publish_accepted(topic, body)
        if holder.take(body) is None:
            return observed("missing", overdue=True)
        holder.ready(0)
        with broker.subscribe(topic, channel=holder.channel, identify=SOON) as other:
            return _again(other.take(body, seconds=_until_again(other)))


@case("nsq/trace/timed-out/behind-others", clause="smart.connection.timed-out", waiting=True)
def test_timed_out_among_others(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """Of several messages in flight, each one that times out is delivered again."""
    topic, bodies = fresh_plain_topic, [broker.unique_body() for _ in range(5)]
    finished = {bodies[1], bodies[3]}
    with broker.subscribe(topic, ready=len(bodies), identify=SOON) as consumer:
        for body in bodies:
            broker.publish_accepted(topic, body)
        held = [consumer.take() for _ in bodies]
        if None in held:
            return observed("missing", overdue=True)
        for delivery in held:
            if delivery is not None and delivery.body in finished:
                consumer.finish(delivery)
        left = set(bodies) - finished
        deadline = time.monotonic() + 2 * _until_again(consumer)
        while left:
            delivery = consumer.next(seconds=_until_again(consumer))
            if delivery is None or time.monotonic() > deadline:
                return observed("lost", overdue=True)
            left.discard(delivery.body)
    return observed("again")


def _left_to_time_out(broker: Broker, topic: Topic, header: Header | None = None) -> Observation:
    """Leave a message unanswered; ``again`` if it comes after its time-out, else ``lost``."""
    body = broker.unique_body()
    with broker.subscribe(topic, identify=SOON) as consumer:
        broker.publish_accepted(topic, body, header)
        if consumer.take(body) is None:
            return observed("missing", overdue=True)
        _pass_over_copies(consumer, body, until=time.monotonic() + TOUCHED_AT_S)
        return _again(consumer.take(body, seconds=_until_again(consumer)))


def _until_again(consumer: Consumer) -> float:
    """Return the seconds within which a message in flight has timed out and comes again."""
    return TIMEOUT_S + consumer.connection.seconds(REDELIVERY)


def _again(delivery: Delivery | None) -> Observation:
    return observed("again") if delivery else observed("lost", overdue=True)


@case(
    "nsq/trace/not-held",
    clause="smart.message-id.not-held",
    waiting=True,
    needs_of={"touch": ("touch",)},
)
@pytest.mark.parametrize("say", ACKNOWLEDGEMENTS.values(), ids=ACKNOWLEDGEMENTS)
def test_of_another(broker: Broker, fresh_plain_topic: Topic, say: Acknowledge) -> Observation:
    """FIN, REQ or TOUCH from a client that does not hold the message has no effect on it."""
    topic = fresh_plain_topic
    holder = broker.subscribe(topic, identify=SOON)
    broker.publish_accepted(topic, broker.unique_body())
    held = holder.take()
    if held is None:
        return observed("missing", overdue=True)

    return acknowledge_from_another(broker, holder, held, say)


@case("nsq/trace/not-held-later", clause="smart.message-id.not-held", waiting=True)
def test_delayed_by_another(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """REQ with a delay from a client that does not hold the message has no effect on it."""
    topic, mine = fresh_plain_topic, broker.unique_body()
    with (
        broker.subscribe(topic) as holder,
        broker.subscribe(topic, channel=holder.channel, ready=0) as other,
    ):
        broker.publish_accepted(topic, broker.unique_body())
        held = holder.take()
        if held is None:
            return observed("missing", overdue=True)
        holder.ready(0)  # what comes again has nobody else to go to
        answer = other.connection.ask(frames.req(held.message_id or b"", SOONER_MS))
        seen = observe(answer, then=other.connection.goes_on(topic))
        if other.connection.has_ended:
            return seen
        other.ready(1)
        broker.publish_accepted(topic, mine)
        return followed_by(seen, _stays_away(other, held.body, mine))


def _stays_away(other: Consumer, held: bytes, mine: bytes) -> Observation:
    """Return ``taken`` if a held message comes to another client before one requeued for longer.

    A copy of a delivery does not count: its attempts are those of the first one.
    """
    was_requeued = False
    while delivery := other.take(wait=REDELIVERY):
        message = delivery.message
        if delivery.body == held and message is not None and message.attempts > 1:
            return observed("taken").on(delivery)
        if delivery.body == mine and was_requeued:
            return observed("kept")
        if delivery.body == mine:
            was_requeued = True
            other.requeue(delivery, LATER_MS)
        else:
            other.finish(delivery)
    return observed("no-sentinel", overdue=True)


@case("nsq/trace/touch-once", clause="smart.message-id.touch", needs=("touch",), waiting=True)
def test_touch_once(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """A message that is touched at once comes again after one time-out, not after two.

    Beside it, another message of the client is left to time out.
    """
    touched, left = broker.unique_body(), broker.unique_body()
    wishes = {"msg_timeout": LONGER_S * 1000}
    with broker.subscribe(fresh_plain_topic, ready=2, identify=wishes) as consumer:
        for body in (touched, left):
            broker.publish_accepted(fresh_plain_topic, body)
        held = _take_all(consumer, {touched, left}, PUSH)
        if touched not in held or left not in held:
            return observed("missing", overdue=True)
        consumer.touch(held[touched][0])
        _pass_over_copies(consumer, until=time.monotonic() + LONGER_S / 2)
        again = _take_all(consumer, {touched, left}, REDELIVERY)
    if left not in again:
        return observed("missing", overdue=True)
    if touched not in again:
        return observed("too-late", overdue=True)
    passed = again[touched][1] - again[left][1]
    if passed > LONGER_S - EARLY_BY_S:
        difference = Difference(
            "time-out", None, "that of the other message", f"{passed:.2f} s later"
        )
        return observed("too-late", overdue=True, difference=difference)
    return observed("renewed")


def _take_all(
    consumer: Consumer, bodies: set[bytes], wait: Wait
) -> dict[bytes, tuple[Delivery, float]]:
    """Take messages until each body has come or patience is over; return them with times."""
    found: dict[bytes, tuple[Delivery, float]] = {}
    while bodies - found.keys():
        delivery = consumer.take(wait=wait)
        if delivery is None:
            break
        found.setdefault(delivery.body, (delivery, time.monotonic()))
    return found


@case("nsq/trace/timeout", clause="smart.connection.timeout-negotiated", waiting=True)
def test_negotiated_timeout(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """A message times out after the time that its client asked for in IDENTIFY."""
    body = broker.unique_body()
    with broker.subscribe(fresh_plain_topic, identify=SOON) as consumer:
        broker.publish_accepted(fresh_plain_topic, body)
        if consumer.take(body) is None:
            return observed("missing", overdue=True)
        started = time.monotonic()
        _pass_over_copies(consumer, body, until=started + TOUCHED_AT_S)
        again = consumer.take(body, seconds=HONOURED_S)
        passed = time.monotonic() - started
    if again is None and passed < HONOURED_S:
        return observed("missing", overdue=True)  # the connection ended
    if again is None:
        difference = Difference(
            "time-out", None, f"{TIMEOUT_S:g} s", f"more than {HONOURED_S:g} s"
        )
        return observed("not-honoured", difference=difference)
    if passed < TIMEOUT_S - EARLY_BY_S - TAKEN_LATE_S:
        difference = Difference("time-out", None, f"{TIMEOUT_S:g} s", f"{passed:.2f} s")
        return observed("too-early", difference=difference)
    return observed("honoured")


@case("nsq/trace/touch", clause="smart.message-id.touch", needs=("touch",), waiting=True)
def test_touch_alone(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """A touched message is redelivered no earlier than one full timeout after TOUCH."""
    return touch_and_wait(broker, fresh_plain_topic)


@case("nsq/trace/touch-cut", clause="smart.message-id.touch", needs=("touch",), waiting=True)
@pytest.mark.parametrize("at", [9, 14, 22])
def test_touch_cut(broker: Broker, fresh_plain_topic: Topic, at: int) -> Observation:
    """The broker accepts a TOUCH that arrives in two pieces, also behind another command."""
    topic = fresh_plain_topic
    with broker.subscribe(topic) as consumer:
        broker.publish_accepted(topic, broker.unique_body())
        held = consumer.take()
        if held is None:
            return observed("missing", overdue=True)
        for piece in (nop() + touch(held.message_id or b"")).split(at + 4):
            consumer.connection.send(piece)

        return observed(consumer.connection.goes_on(topic))
