import socket
from collections.abc import Iterator
from contextlib import contextmanager

from scripted_peer import HEARTBEAT, OK, Peer, Script, ScriptedPeer, pushing, refusing, saying

from wireproof_kit.nsq.consumer import Consumer
from wireproof_kit.nsq.observe.delivery import BARE
from wireproof_kit.nsq.topics.bodies import Bodies
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.answers import Closed, Silent
from wireproof_kit.nsq.wire.connection import GOES_ON, Connection
from wireproof_kit.runner.patience import Patience
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.decoding import encode
from wireproof_spec.nsq.message import Message, message_schema

PATIENCE = Patience(answer=5.0, push=5.0, redelivery=5.0)
HASTY = Patience(answer=0.1, push=0.1, redelivery=0.1)
PLAIN = message_schema(extend=False, ordered=False)


def message(number: int, body: bytes) -> bytes:
    return pushing(encode(PLAIN, Message(1, 1, number, 0, None, None, None, body)))


def fin(number: int) -> bytes:
    return b"FIN " + number.to_bytes(8, "big") + bytes(8) + b"\n"


@contextmanager
def consuming(
    script: Script, *, bodies: Bodies, shared: bool = True, patience: Patience = PATIENCE
) -> Iterator[Consumer]:
    with ScriptedPeer(script) as peer:
        topic = Topic("t", 0, extend=False, ordered=False, shared=shared, address=peer.address)
        connection = Connection(
            socket.create_connection(peer.address),
            transcript=Transcript(),
            patience=patience,
            address=peer.address,
        )
        with Consumer(connection, topic, channel="c", layout=BARE, bodies=bodies) as consumer:
            yield consumer


def test_unique_bodies_are_unique_and_begin_as_told() -> None:
    bodies = Bodies("one")
    made = {bodies.unique(b"\0prefix") for _ in range(100)} | {Bodies("two").unique(b"\0prefix")}

    assert len(made) == 101
    assert all(body.startswith(b"\0prefix") for body in made)


def then_finished(pushed: list[bytes], said: bytes, last: bytes) -> Script:
    """Push, and push the last message only after exactly this was said."""

    def script(peer: Peer) -> None:
        peer.say(*pushed)
        if peer.exactly(len(said)) == said:
            peer.say(last)
        peer.rest()

    return script


def test_the_own_message_is_returned_and_finished() -> None:
    bodies = Bodies("case")
    first, second = bodies.unique(), bodies.unique()
    script = then_finished([message(7, first)], fin(7), message(8, second))
    with consuming(script, bodies=bodies) as consumer:
        for body in (first, second):
            delivery = consumer.next()
            assert delivery is not None
            assert delivery.body == body


def test_a_message_taken_is_not_finished() -> None:
    bodies = Bodies("case")
    first, second = bodies.unique(), bodies.unique()
    script = then_finished([message(7, first)], b"RDY 2\n", message(8, second))
    with consuming(script, bodies=bodies) as consumer:
        assert consumer.take() is not None
        consumer.ready(2)
        assert consumer.take() is not None


def test_foreign_messages_on_a_shared_topic_are_finished_and_passed_over() -> None:
    bodies = Bodies("case")
    body = bodies.unique()
    foreign = [message(1, b"foreign"), HEARTBEAT, message(2, GOES_ON)]
    script = then_finished(foreign, fin(1) + b"NOP\n" + fin(2), message(3, body))
    with consuming(script, bodies=bodies) as consumer:
        delivery = consumer.take()
        assert delivery is not None
        assert delivery.body == body


def test_on_a_topic_of_its_own_a_case_sees_every_message_but_the_kits_own() -> None:
    script = saying(message(1, GOES_ON), message(2, b"whatever"))
    with consuming(script, bodies=Bodies("case"), shared=False) as consumer:
        delivery = consumer.next()
        assert delivery is not None
        assert delivery.body == b"whatever"


def test_a_changed_message_is_recognised_by_its_token() -> None:
    bodies = Bodies("case")
    body = bodies.unique()
    with consuming(saying(message(1, b"more" + body)), bodies=bodies) as consumer:
        delivery = consumer.next()
        assert delivery is not None
        assert delivery.body == b"more" + body


def test_with_a_body_given_all_others_are_passed_over() -> None:
    bodies = Bodies("case")
    first, second = bodies.unique(), bodies.unique()
    with consuming(saying(message(1, first), message(2, second)), bodies=bodies) as consumer:
        delivery = consumer.next(second)
        assert delivery is not None
        assert delivery.body == second


def test_until_returns_what_came_before_the_sentinel() -> None:
    bodies = Bodies("case")
    first, second, sentinel = bodies.unique(), bodies.unique(), bodies.unique()
    script = saying(*(message(n, body) for n, body in enumerate((first, second, sentinel), 1)))
    with consuming(script, bodies=bodies) as consumer:
        before = consumer.until(sentinel)
        assert before is not None
        assert [delivery.body for delivery in before] == [first, second]


def test_until_without_the_sentinel_is_none() -> None:
    bodies = Bodies("case")
    script = saying(message(1, bodies.unique()))
    with consuming(script, bodies=bodies, patience=HASTY) as consumer:
        assert consumer.until(bodies.unique()) is None
        assert isinstance(consumer.answer, Silent)
        assert not consumer.ended


def test_a_closed_connection_ends_the_wait_at_once() -> None:
    with consuming(lambda peer: None, bodies=Bodies("case")) as consumer:
        assert consumer.next() is None
        assert consumer.answer == Closed("end")
        assert consumer.ended


def test_other_frames_are_passed_over() -> None:
    bodies = Bodies("case")
    body = bodies.unique()
    script = saying(refusing("E_FIN_FAILED"), OK, message(1, body))
    with consuming(script, bodies=bodies) as consumer:
        delivery = consumer.next()
        assert delivery is not None
        assert delivery.body == body


def test_messages_without_an_id_are_not_finished() -> None:
    with consuming(saying(pushing(b"short")), bodies=Bodies("case"), shared=False) as consumer:
        delivery = consumer.next()
        assert delivery is not None
        assert delivery.message_id is None
        consumer.requeue(delivery, 0)
        consumer.touch(delivery)


def test_requeue_touch_and_ready_are_said() -> None:
    own = b"\0" * 7 + b"\1" + bytes(8)
    said = b"REQ " + own + b" 100\nTOUCH " + own + b"\nRDY 3\n"
    script = then_finished([message(1, b"x")], said, message(2, b"y"))
    with consuming(script, bodies=Bodies("case"), shared=False) as consumer:
        delivery = consumer.take()
        assert delivery is not None
        consumer.requeue(delivery, 100)
        consumer.touch(delivery)
        consumer.ready(3)
        assert consumer.take() is not None
