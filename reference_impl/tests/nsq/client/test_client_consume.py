"""Consuming with the example client's core: whose message is whose, and how many at a time."""

import pytest
from client_world import World

from wireproof_reference_impl.nsq.client.core.consumer import Outcome
from wireproof_reference_impl.nsq.client.core.settings import Subscribing
from wireproof_spec.decoding import encode
from wireproof_spec.nsq.frame import message_frame
from wireproof_spec.nsq.message import Message, message_schema

A, B = 11, 12


def delivery(internal_id: int, attempts: int = 1) -> bytes:
    message = Message(1, attempts, internal_id, 0, None, None, None, b"x")
    return message_frame(encode(message_schema(extend=False, ordered=False), message))


def consume(world: World, *, max_in_flight: int = 20, max_attempts: int = 0) -> list[int]:
    """Subscribe to all partitions; return the connections, by partition."""
    wants = Subscribing("t", "c", max_in_flight=max_in_flight, max_attempts=max_attempts)
    world.client.consume(wants, world.now)
    world.run()
    connections = [connection for _, connection, _ in world.commands(b"SUB")]
    for connection in connections:
        world.answer(connection)
    return connections


def counts(world: World) -> dict[int, int]:
    """Return the last RDY of each connection."""
    return {
        connection: int(command.line.data.split()[1])
        for _, connection, command in world.commands(b"RDY")
    }


def test_messages_of_two_partitions_with_one_id_are_told_apart() -> None:
    world = World({0: A, 1: B})
    one, other = consume(world)
    world.send(one, delivery(1))
    world.send(other, delivery(1))
    first, second = world.handed()
    world.client.settle(1, second.ticket, Outcome.FINISHED, world.now)
    world.run()
    world.client.settle(1, first.ticket, Outcome.FINISHED, world.now)
    world.run()

    assert [connection for _, connection, _ in world.commands(b"FIN")] == [other, one]


@pytest.mark.parametrize("most", [1, 2, 3, 20])
def test_all_rdy_together_never_exceed_max_in_flight(most: int) -> None:
    world = World({number: 20 + number for number in range(5)})
    connections = consume(world, max_in_flight=most)
    now: dict[int, int] = {}
    seen = set[int]()

    def check(start: int) -> int:
        for _, connection, command in world.sent[start:]:
            if command.line.data.startswith(b"RDY"):
                now[connection] = int(command.line.data.split()[1])
                assert sum(now.values()) <= max(most, 1)
                seen.update(each for each, count in now.items() if count)
        return len(world.sent)

    at = check(0)
    for number, connection in enumerate(connections):
        if now.get(connection):
            world.send(connection, delivery(number + 1))
            at = check(at)
    world.wait(10)
    check(at)

    assert seen == set(connections), "every partition has its turn"


def test_delivery_stops_after_a_failure_and_begins_with_one_message() -> None:
    world = World({0: A, 1: B})
    one, other = consume(world)
    world.send(one, delivery(1))
    world.client.settle(1, world.handed()[0].ticket, Outcome.FAILED, world.now)
    world.run()
    names = [command.line.data.split(b" ")[0] for _, _, command in world.sent]
    assert names[-1] == b"REQ", "RDY 0 comes before it, or the message may come again at once"
    assert counts(world) == {one: 0, other: 0}

    world.wait(0.3)

    assert sorted(counts(world).values()) == [0, 1]


def test_a_message_whose_connection_was_lost_is_not_finished_on_the_next_one() -> None:
    world = World({0: A})
    (one,) = consume(world)
    world.send(one, delivery(1))
    world.client.lost(one, "reset", world.now)
    world.wait(1)
    again = world.commands(b"SUB")[-1][1]
    world.answer(again)
    world.client.settle(1, world.handed()[0].ticket, Outcome.FINISHED, world.now)
    world.run()

    assert again != one
    assert world.commands(b"FIN") == []


def test_a_message_attempted_too_often_is_finished_unseen_unless_in_order() -> None:
    world = World({0: A})
    (one,) = consume(world, max_attempts=3)
    world.send(one, delivery(1, attempts=4))

    assert world.handed() == []
    assert len(world.commands(b"FIN")) == 1


def test_a_consumer_stays_where_it_is_when_nobody_knows_the_topic() -> None:
    world = World({0: A})
    (one,) = consume(world)
    world.leaders = {}
    world.wait(200)

    assert one not in world.closed or world.commands(b"SUB")[-1][1] not in world.closed


def test_silence_of_a_node_ends_its_connection() -> None:
    world = World({0: A})
    (one,) = consume(world)
    world.wait(80)

    assert one in world.closed
    assert len(world.commands(b"SUB")) > 1
