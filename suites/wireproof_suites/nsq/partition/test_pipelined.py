"""Several PUB commands with the same line in one write, as busy producers send them."""

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.observe.observations import observe
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.frames import pub
from wireproof_kit.observation import Observation, first_unlike, observed
from wireproof_kit.wire.outgoing import join_pieces
from wireproof_suites.nsq.steps.partitions import READY, read_own
from wireproof_suites.nsq.steps.subscriptions import read_ids, receive_all

IN_A_ROW = 5
SIZE = 64


@case("nsq/partition/stored-once", clause="smart.partition.stored-once")
def test_each_of_a_row_once(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """Each pipelined publish is stored once: redelivered copies have the same message id."""
    topic = fresh_plain_topic
    bodies = [broker.unique_body() for _ in range(IN_A_ROW)]
    with broker.subscribe(topic, ready=READY) as consumer, broker.connect(topic=topic) as client:
        client.send(join_pieces([pub(topic, body) for body in bodies], "five PUB in one write"))
        answers = (observe(client.receive()) for _ in bodies)
        if (seen := first_unlike(answers, "ok")).value != "ok":
            return seen
        last = [broker.unique_body() for _ in range(2)]
        for body in last:
            broker.publish_accepted(topic, body)
        ids = read_ids(consumer, [*bodies, *last])
    if ids is None:
        return observed("missing", overdue=True)
    return observed("once" if all(len(found) == 1 for found in ids.values()) else "twice")


@case("nsq/partition/pub-bad-size/in-a-row", clause="smart.partition.pub-empty")
def test_bad_size_in_a_row(broker: Broker, plain_topic: Topic) -> Observation:
    """An empty PUB right behind two valid ones is refused or accepted; those two are accepted."""
    right = [pub(plain_topic, broker.unique_body()) for _ in range(2)]
    wrong = pub(plain_topic, b"x", size=0).cut(-1)
    with broker.connect(topic=plain_topic) as client:
        client.send(join_pieces([*right, wrong], "two PUB and one of size 0"))
        for _ in right:
            answer = observe(client.receive())
            if answer.value != "ok":
                return answer
        return observe(client.receive(), then=client.goes_on(plain_topic))


@case("nsq/partition/pipelined/cut", clause="smart.partition.publish")
def test_row_in_two_pieces(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """Pipelined publishes split in the middle of a body are all published whole."""
    topic = fresh_plain_topic
    bodies = [broker.unique_body().ljust(SIZE, b"~") for _ in range(3)]
    *whole, last = [pub(topic, body) for body in bodies]
    head, tail = last.split(len(last.data) - 5)
    with broker.subscribe(topic, ready=READY) as consumer, broker.connect(topic=topic) as client:
        client.send(join_pieces([*whole, head], "two PUB and most of a third"))
        answers = [observe(client.receive()) for _ in whole]
        answers += [observe(client.ask(tail))]
        seen = first_unlike(answers, "ok")
        return receive_all(consumer, bodies) if seen.value == "ok" else seen


@case("nsq/partition/own-messages-row", clause="smart.partition.own-messages", waiting=True)
def test_row_of_two_partitions(broker: Broker, partitioned_topic: Topic) -> Observation:
    """A pipelined publish goes to the partition it names, not to that of the previous one."""
    first, second = (
        partitioned_topic.at(place.partition) for place in partitioned_topic.places[:2]
    )
    bodies = [broker.unique_body() for _ in range(3)]
    other = broker.unique_body()
    row = [pub(first, bodies[0]), pub(first, bodies[1])]
    stranger = pub(first, other, partition=second.partition)
    with broker.subscribe(first, ready=READY) as consumer, broker.connect(topic=first) as client:
        client.send(join_pieces([*row, stranger], "PUB to one partition twice, then to another"))
        for _ in (*row, stranger):
            client.receive()
        broker.publish_accepted(first, bodies[2])

        return read_own(consumer, bodies, [other])
