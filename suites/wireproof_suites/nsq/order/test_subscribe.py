"""Who may consume an ordered topic, and by which command."""

from dataclasses import replace

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.observe.observations import observe
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.frames import (
    Partition,
    line,
    pub,
    pub_trace,
    rdy,
    subscribe,
)
from wireproof_kit.observation import Observation, observed
from wireproof_spec.nsq.names import (
    DESIRED_TAG,
    EXTEND_SUPPORT,
    SUB_ADVANCED,
    SUB_ORDER,
    SUB_ORDERED,
)
from wireproof_suites.nsq.steps.ordered_delivery import (
    Identify,
    held_alone,
    open_consumer,
    publish,
    read_in_order,
)

COMMANDS = (SUB_ORDER, SUB_ORDERED)
ILLEGAL = "wp!illegal"

IDENTITIES: dict[str, Identify | None] = {
    "no-identify": None,
    "no-fields": {},
    "negotiated": {"feature_negotiation": True, "msg_timeout": 1000},
    "desired-tag": {DESIRED_TAG: "t"},
}

NO_PARTITION: dict[str, tuple[bool, Partition]] = {
    "pub": (False, None),
    "pub-minus-one": (False, -1),
    "pub-trace": (True, None),
    "pub-trace-minus-one": (True, -1),
}


@case("nsq/order/command", clause="smart.order.command")
@pytest.mark.parametrize("identity", IDENTITIES.values(), ids=IDENTITIES)
def test_command(
    broker: Broker, fresh_ordered_topic: Topic, identity: Identify | None
) -> Observation:
    """The broker accepts a command that subscribes to a topic in order."""
    return _command(broker, fresh_ordered_topic, fresh_ordered_topic.channel(), identity)


@case("nsq/order/command/second-client", clause="smart.order.command")
def test_command_of_a_second_client(broker: Broker, fresh_ordered_topic: Topic) -> Observation:
    """A second client may subscribe in order to the same channel."""
    first = open_consumer(broker, fresh_ordered_topic)

    return _command(broker, fresh_ordered_topic, first.channel, {})


@case("nsq/order/command/known-channel", clause="smart.order.command")
def test_command_on_a_known_channel(broker: Broker, fresh_ordered_topic: Topic) -> Observation:
    """A client may subscribe in order to a channel that other clients have left."""
    first = open_consumer(broker, fresh_ordered_topic)
    first.close()

    return _command(broker, fresh_ordered_topic, first.channel, {})


@case("nsq/order/command-ext", clause="smart.order.command", needs=("ext",))
@pytest.mark.parametrize("tag", [None, "t"], ids=["no-tag", "desired-tag"])
def test_command_on_an_ext_topic(
    broker: Broker, fresh_ordered_ext_topic: Topic, tag: str | None
) -> Observation:
    """The ordered subscribe command works on an ext topic."""
    topic = fresh_ordered_ext_topic
    identity = {EXTEND_SUPPORT: True} | ({DESIRED_TAG: tag} if tag else {})

    return _command(broker, topic, topic.channel(), identity)


@case("nsq/order/command-refused", clause="smart.order.command-refused")
@pytest.mark.parametrize("wrong", ["topic", "channel", "no-channel"])
def test_illegal_command(broker: Broker, fresh_ordered_topic: Topic, wrong: str) -> Observation:
    """The ordered subscribe command is refused with an illegal name or without a channel."""
    topic, seen = fresh_ordered_topic, observed("silence", overdue=True)
    for command in COMMANDS:
        frame = {
            "topic": subscribe(topic, topic.channel(), command=command, topic_name=ILLEGAL),
            "channel": subscribe(topic, ILLEGAL, command=command),
            "no-channel": line(command, topic.name),
        }[wrong]
        with broker.connect(topic=topic) as client:
            seen = observe(client.ask(frame), then=client.goes_on(topic))
        if not seen.value.startswith("error:E_INVALID"):
            break
    return seen


@case("nsq/order/is-must", clause="smart.order.is-must")
@pytest.mark.parametrize("identity", IDENTITIES.values(), ids=IDENTITIES)
def test_plain_sub(
    broker: Broker, fresh_ordered_topic: Topic, identity: Identify | None
) -> Observation:
    """The broker refuses plain SUB on an ordered topic."""
    return _observe_refusal(broker, fresh_ordered_topic, fresh_ordered_topic.channel(), identity)


@case("nsq/order/is-must/channel-in-use", clause="smart.order.is-must")
def test_plain_sub_beside_an_ordered_client(
    broker: Broker, fresh_ordered_topic: Topic
) -> Observation:
    """The broker refuses plain SUB on a channel that an ordered client is using."""
    ordered = open_consumer(broker, fresh_ordered_topic)

    return _observe_refusal(broker, fresh_ordered_topic, ordered.channel, {})


@case("nsq/order/is-must/channel-left", clause="smart.order.is-must")
def test_plain_sub_after_an_ordered_client(
    broker: Broker, fresh_ordered_topic: Topic
) -> Observation:
    """The broker refuses plain SUB on a channel that an ordered client has left."""
    ordered = open_consumer(broker, fresh_ordered_topic)
    ordered.close()

    return _observe_refusal(broker, fresh_ordered_topic, ordered.channel, {})


@case("nsq/order/is-must-ext", clause="smart.order.is-must", needs=("ext",))
@pytest.mark.parametrize("tag", [None, "t"], ids=["no-tag", "desired-tag"])
def test_plain_sub_on_an_ext_topic(
    broker: Broker, fresh_ordered_ext_topic: Topic, tag: str | None
) -> Observation:
    """The broker refuses plain SUB on an ordered ext topic."""
    topic = fresh_ordered_ext_topic
    identity = {EXTEND_SUPPORT: True} | ({DESIRED_TAG: tag} if tag else {})

    return _observe_refusal(broker, topic, topic.channel(), identity)


@case("nsq/order/is-must-both-wrong", clause="smart.order.is-must", needs=("ext",))
def test_plain_sub_without_support(broker: Broker, fresh_ordered_ext_topic: Topic) -> Observation:
    """Plain SUB without extend_support is refused on an ordered ext topic."""
    topic = fresh_ordered_ext_topic

    return _observe_refusal(broker, topic, topic.channel(), {})


@case("nsq/order/is-must-refused", clause="smart.order.is-must", waiting=True)
def test_refused_takes_nothing(broker: Broker, fresh_ordered_topic: Topic) -> Observation:
    """A client whose SUB to an ordered topic was refused takes no messages from the subscriber."""
    topic = fresh_ordered_topic
    right = open_consumer(broker, topic)
    with broker.connect(topic=topic) as refused:
        refused.ask(subscribe(topic, right.channel))
        refused.send(rdy(2))
        bodies = publish(broker, topic, 4)

        return read_in_order(right, bodies)


@case("nsq/order/is-must-advanced", clause="smart.order.is-must-advanced")
def test_advanced_sub(broker: Broker, fresh_ordered_topic: Topic) -> Observation:
    """The broker refuses SUB_ADVANCED on an ordered topic."""
    topic = fresh_ordered_topic
    with broker.connect(topic=topic) as client:
        answer = client.ask(subscribe(topic, topic.channel(), command=SUB_ADVANCED))

        return observe(answer, then=client.goes_on(topic))


@case(
    "nsq/order/publish-partition",
    clause="smart.order.publish-partition",
    needs_of={id: ("trace",) for id, (traced, _) in NO_PARTITION.items() if traced},
)
@pytest.mark.parametrize(("traced", "partition"), NO_PARTITION.values(), ids=list(NO_PARTITION))
def test_publish_without_partition(
    broker: Broker, fresh_ordered_topic: Topic, traced: bool, partition: Partition
) -> Observation:
    """A publish to an ordered topic without a partition is refused."""
    topic, body = fresh_ordered_topic, broker.unique_body()
    plain = pub(topic, body, partition=partition)
    frame = pub_trace(topic, 7, body, partition=partition) if traced else plain
    with broker.connect(topic=topic) as client:
        return observe(client.ask(frame), then=client.goes_on(topic))


@case("nsq/order/plain-topic", clause="smart.order.plain-topic", waiting=True)
def test_ordered_on_a_plain_topic(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """An ordered subscription to an unordered topic is refused, or served in order."""
    topic = fresh_plain_topic
    if not _command(broker, topic, topic.channel(), {}).value.endswith(":ok"):
        return observed("refused")
    control, client = open_consumer(broker, topic), open_consumer(broker, topic, ready=50)

    bodies = publish(broker, topic, 6)

    return held_alone(client, bodies, control=control)


def _command(broker: Broker, topic: Topic, channel: str, identity: Identify | None) -> Observation:
    """Try both names of the command; return the last name tried and the answer to it."""
    command, seen = SUB_ORDER, observed("silence", overdue=True)
    for command in COMMANDS:
        with broker.connect(identify=identity, topic=topic) as client:
            answer = client.ask(subscribe(topic, channel, command=command))
        seen = observe(answer)
        if not seen.value.startswith("error:E_INVALID"):
            break
    return replace(seen, value=f"{command.decode()}:{seen.value}")


def _observe_refusal(
    broker: Broker, topic: Topic, channel: str, identity: Identify | None
) -> Observation:
    with broker.connect(identify=identity, topic=topic) as client:
        answer = client.ask(subscribe(topic, channel))
        return observe(answer, then=client.goes_on(topic))
