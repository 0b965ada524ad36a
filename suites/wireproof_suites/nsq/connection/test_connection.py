"""What connections take over from the original protocol: heartbeats, commands, RDY, REQ."""

import time
from dataclasses import replace
from itertools import pairwise

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.consumer import Consumer
from wireproof_kit.nsq.observe.delivery import Delivery
from wireproof_kit.nsq.observe.observations import observe
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.frames import (
    cls,
    identify,
    pub,
    raw,
)
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_kit.runner.patience import ANSWER, PUSH, REDELIVERY
from wireproof_kit.wire.waiting import until
from wireproof_suites.nsq.steps.publish_results import then_goes_on
from wireproof_suites.nsq.steps.subscriptions import receive_all

WRONG_MAGIC = b"  V9"
UNKNOWN = {"word": b"WP_NOTHING x\n", "begins-with-a-command": b"NOPE\n"}
ODD_LINES = {"lower-case": b"nop\n", "nothing": b"\n"}
# Twice as long unanswered, and the broker ends the connection: a slow machine needs room.
HEARTBEAT_S = 3.0
# Two heartbeats may stay without an answer; some brokers look only at every other one.
UNANSWERED_S = 6.0
# A client that was silent for so many intervals would have been disconnected.
ENOUGH_HEARTBEATS = 4
GLANCE_S = 0.1
MANY = 20
EARLIER = b"before the others"
INTERVAL_S = 1.0
LATE_INTERVALS = 1.7
"""Heartbeats that come after so many intervals come at twice the interval that was asked for."""
# A broker may round the time, but not lose it.
LATER_MS = 1500
EARLIEST_S = 1.2


@case("nsq/connection/heartbeat", clause="smart.connection.heartbeat", waiting=True)
def test_heartbeat(broker: Broker, plain_topic: Topic) -> Observation:
    """The broker sends heartbeats at the interval the client requested."""
    with broker.connect(identify={"heartbeat_interval": 2000}, topic=plain_topic) as client:

        def read() -> bool | None:
            client.receive_within(GLANCE_S)
            return client.heartbeats > 0 or client.has_ended or None

        until(read, seconds=HEARTBEAT_S + client.seconds(ANSWER))
        seen = observed("heartbeats") if client.heartbeats else observed("none", overdue=True)

        return then_goes_on(seen, client, plain_topic)


@case("nsq/connection/heartbeat-interval", clause="smart.connection.heartbeat", waiting=True)
def test_heartbeat_interval(broker: Broker, plain_topic: Topic) -> Observation:
    """The broker sends heartbeats at the interval the client requested, not at twice that.

    The shortest time between two of them counts: pauses of the kit only make others longer.
    """
    came: list[float] = []
    with broker.connect(identify={"heartbeat_interval": 1000}, topic=plain_topic) as client:

        def read() -> bool | None:
            client.receive_within(GLANCE_S)
            if client.heartbeats > len(came):
                came.append(time.monotonic())
            return len(came) >= ENOUGH_HEARTBEATS or client.has_ended or None

        until(read, seconds=ENOUGH_HEARTBEATS * UNANSWERED_S + client.seconds(ANSWER))
        ended = client.has_ended
    if len(came) < ENOUGH_HEARTBEATS:
        return observed("none", overdue=not ended)
    shortest = min(later - earlier for earlier, later in pairwise(came))
    if shortest > LATE_INTERVALS * INTERVAL_S:
        difference = Difference("interval", None, f"{INTERVAL_S:g} s", f"{shortest:.2f} s")
        return observed("late", difference=difference)
    return observed("at-interval")


@case("nsq/connection/heartbeat-answered", clause="smart.connection.heartbeat", waiting=True)
def test_answered_heartbeats(broker: Broker, plain_topic: Topic) -> Observation:
    """The broker keeps the connection of a client that answers each heartbeat with NOP."""
    last, pause = time.monotonic(), 0.0
    with broker.connect(identify={"heartbeat_interval": 1000}, topic=plain_topic) as client:

        def read() -> bool | None:
            nonlocal last, pause
            client.receive_within(GLANCE_S)
            now = time.monotonic()
            last, pause = now, max(pause, now - last)
            return client.heartbeats >= ENOUGH_HEARTBEATS or client.has_ended or None

        until(read, seconds=2 * UNANSWERED_S + client.seconds(ANSWER))
        enough = client.heartbeats >= ENOUGH_HEARTBEATS
        seen = observed("heartbeats") if enough else observed("none", overdue=not client.has_ended)
        seen = then_goes_on(seen, client, plain_topic)
        # A broker may close the connection of a client that was kept from answering.
        is_late = client.has_ended and pause > INTERVAL_S
        return replace(seen, overdue=True, starved=True) if is_late else seen


@case("nsq/connection/heartbeat-unanswered", clause="smart.connection.heartbeat", waiting=True)
def test_unanswered_heartbeat(broker: Broker, plain_topic: Topic) -> Observation:
    """The broker closes the connection of a client that answers no heartbeat."""
    with broker.connect(identify={"heartbeat_interval": 1000}, topic=plain_topic) as client:
        client.answers_heartbeats = False

        def read() -> bool | None:
            client.receive_within(GLANCE_S)
            return client.has_ended or None

        until(read, seconds=UNANSWERED_S + client.seconds(ANSWER))
        if client.has_ended:
            return observed("closed")
        return observed("open" if client.heartbeats else "none", overdue=True)


@case("nsq/connection/wrong-magic", clause="smart.connection.wrong-magic")
def test_wrong_magic(broker: Broker) -> Observation:
    """The broker answers a wrong protocol magic with an error or closes the connection."""
    with broker.connect(identify=None, magic=False) as client:
        return observe(client.ask(raw(WRONG_MAGIC, "magic") + identify()))


@case("nsq/connection/unknown-command", clause="smart.connection.unknown-command")
@pytest.mark.parametrize("command", UNKNOWN.values(), ids=UNKNOWN)
def test_unknown_command(broker: Broker, plain_topic: Topic, command: bytes) -> Observation:
    """The broker answers an unknown command with an error or closes the connection."""
    with broker.connect(topic=plain_topic) as client:
        return observe(client.ask(raw(command, "no command")))


@case("nsq/connection/unknown-command", clause="smart.connection.odd-command")
@pytest.mark.parametrize("command", ODD_LINES.values(), ids=ODD_LINES)
def test_odd_line(broker: Broker, plain_topic: Topic, command: bytes) -> Observation:
    """The broker answers a lower-case command or an empty line with an error, or disconnects."""
    with broker.connect(topic=plain_topic) as client:
        return observe(client.ask(raw(command, "no command")))


@case("nsq/connection/requeue-later", clause="smart.connection.requeue", waiting=True)
def test_put_back_for_later(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """A message requeued with a delay is not redelivered before the delay has passed."""
    topic = fresh_plain_topic
    with broker.subscribe(topic) as consumer:
        broker.publish_accepted(topic, broker.unique_body())
        held = consumer.take()
        # What was sent twice right away comes before the answer to a publish here.
        consumer.connection.ask(pub(topic, broker.unique_body()))
        while consumer.take(seconds=0):
            pass
        begin = time.monotonic()
        if held is not None:
            consumer.requeue(held, LATER_MS)
        again = held and _next_of(consumer, held)
        passed = time.monotonic() - begin
    if again is None:
        return observed("ended") if consumer.ended else observed("missing", overdue=True)
    return observed("later" if passed >= EARLIEST_S else "early")


@case("nsq/connection/ready", clause="smart.connection.ready", waiting=True)
def test_ready(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """A client with RDY 1 and one message in flight receives no second message."""
    topic = fresh_plain_topic
    with broker.subscribe(topic) as consumer:
        bodies = [broker.unique_body(), broker.unique_body()]
        for body in bodies:
            broker.publish_accepted(topic, body)
        held = consumer.take()
        if held is None:
            return observed("missing", overdue=True)
        other = broker.subscribe(topic, channel=consumer.channel)
        left = next(body for body in bodies if body != held.body)

        came = other.next(left)
    return observed("to-the-other") if came else observed("not-to-the-other", overdue=True)


@case("nsq/connection/ready-none", clause="smart.connection.ready", waiting=True)
def test_not_ready(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """A client that sends RDY 0 receives no more messages, and another client receives them."""
    with broker.subscribe(fresh_plain_topic, ready=MANY) as consumer:
        consumer.ready(0)
        return _who_receives(broker, consumer)


@case("nsq/connection/close", clause="smart.connection.close", waiting=True)
def test_close(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """A client that sends CLS receives no more messages, and another client receives them."""
    with broker.subscribe(fresh_plain_topic, ready=MANY) as consumer:
        answer = observe(consumer.connection.ask(cls()))
        if answer.value.startswith("error:"):
            return observed("unsupported:refused", note=answer.value)
        return _who_receives(broker, consumer)


@case("nsq/connection/close-finish", clause="smart.connection.close-finish", waiting=True)
def test_finish_after_close(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """A message that its client finishes after CLS is not delivered again.

    Every other message is finished: what a client held may come again in any order.
    """
    bodies = [broker.unique_body() for _ in range(MANY)]
    with broker.subscribe(fresh_plain_topic, ready=len(bodies)) as consumer:
        for body in bodies:
            broker.publish_accepted(fresh_plain_topic, body)
        held = [delivery for _ in bodies if (delivery := consumer.take())]
        if len(held) < len(bodies):
            return observed("missing", overdue=True)
        answer = observe(consumer.connection.ask(cls()))
        if answer.value.startswith("error:"):
            return observed("unsupported:refused", note=answer.value)
        finished = {delivery.body for delivery in held[1::2]}
        for delivery in held[1::2]:
            consumer.finish(delivery)
        consumer.connection.half_close()
        ended = observe(consumer.connection.receive())
        if ended.value.startswith("error:"):
            return observed("refused", note=ended.value)
    with broker.subscribe(fresh_plain_topic, channel=consumer.channel, ready=len(bodies)) as other:
        return _none_comes(other, finished, set(bodies) - finished)


def _none_comes(other: Consumer, finished: set[bytes], left: set[bytes]) -> Observation:
    """Return ``again`` if a finished message comes before the last of those that are left."""
    while left:
        delivery = other.take(wait=REDELIVERY)
        if delivery is None:
            return observed("no-sentinel", overdue=True)
        if delivery.body in finished:
            return observed("again").on(delivery)
        other.finish(delivery)
        left.discard(delivery.body)
    return observed("finished")


def _who_receives(broker: Broker, left_out: Consumer) -> Observation:
    """Publish messages, and return whether another client of the channel receives them.

    One of them may have been on its way to the client that is left out. The other one subscribes
    once they have come on another channel: those meant for the client that is left out have, too.
    """
    topic, bodies = left_out.topic, {broker.unique_body() for _ in range(MANY)}
    left_out.connection.ask(pub(topic, EARLIER))  # its answer shows that RDY was read
    with broker.subscribe(topic, ready=MANY) as beside:
        for body in bodies:
            broker.publish_accepted(topic, body)
        if receive_all(beside, bodies).overdue:
            return observed("missing", overdue=True)
    with broker.subscribe(topic, channel=left_out.channel, ready=MANY) as other:
        came: dict[Consumer, set[bytes]] = {other: set(), left_out: set()}

        def have_all() -> bool | None:
            for client, got in came.items():
                while delivery := client.next(seconds=GLANCE_S):
                    got |= {delivery.body} & bodies
            return bodies <= came[other] | came[left_out] or None

        is_whole = until(have_all, seconds=MANY * GLANCE_S + other.connection.seconds(PUSH))
    if len(came[left_out]) > 1:
        return observed("to-the-left-out")
    return observed("to-the-other") if is_whole else observed("missing", overdue=True)


@case("nsq/connection/ready-again", clause="smart.connection.ready-again", waiting=True)
def test_ready_again(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """After each FIN, a client with RDY 1 receives the next message."""
    topic = fresh_plain_topic
    with broker.subscribe(topic, ready=2) as consumer:
        for _ in range(3):
            bodies = [broker.unique_body(), broker.unique_body()]
            for body in bodies:
                broker.publish_accepted(topic, body)
            seen = receive_all(consumer, bodies)
            if seen.value != "delivered:all":
                return seen
    return observed("all")


def _next_of(consumer: Consumer, held: Delivery) -> Delivery | None:
    """Wait until the held message comes again, and finish other messages."""
    seconds = LATER_MS / 1000 + consumer.connection.seconds(REDELIVERY)
    while delivery := consumer.next(seconds=seconds):
        if delivery.message_id == held.message_id:
            return delivery
    return None
