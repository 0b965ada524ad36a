"""Publishing with the example client's core: order, retries, leaders that move."""

from client_world import World

from wireproof_reference_impl.nsq.client.core.commands import Publish
from wireproof_reference_impl.nsq.client.core.effects import Failure, Receipt
from wireproof_reference_impl.nsq.client.core.partitioning import shard
from wireproof_spec.nsq.command_reader import Command
from wireproof_spec.nsq.error_codes import E_BAD_MESSAGE, E_FAILED_ON_NOT_LEADER, E_PUB_FAILED
from wireproof_spec.nsq.publish import PubBody

A, B = 11, 12


def body(command: Command) -> bytes:
    assert command.body is not None
    value = command.body.value
    assert isinstance(value, PubBody)
    return value.body


def publish(world: World, text: bytes, key: bytes | None = None) -> int:
    ticket = world.client.publish("t", Publish(text, key=key), world.now)
    world.run()
    return ticket


def published(world: World) -> list[tuple[int, bytes]]:
    return [(port, body(command)) for port, _, command in world.commands(b"PUB")]


def last(world: World) -> int:
    return world.commands(b"PUB")[-1][1]


def test_what_is_published_by_key_is_not_overtaken_while_it_is_repeated() -> None:
    world = World({0: A})
    for text in (b"1", b"2", b"3"):
        publish(world, text, b"key")
    world.leaders = {0: B}
    world.refuse(last(world), E_FAILED_ON_NOT_LEADER)
    world.wait(1)
    for _ in range(3):
        world.answer(last(world))

    assert published(world) == [(A, b"1"), (B, b"1"), (B, b"2"), (B, b"3")]
    assert [each.outcome for each in world.settled()] == [Receipt(0)] * 3


def test_what_is_published_without_key_is_repeated_in_the_next_partition() -> None:
    world = World({0: A, 1: B})
    publish(world, b"1")
    world.refuse(last(world), E_PUB_FAILED)
    world.wait(1)
    world.answer(last(world))

    assert sorted(port for port, _ in published(world)) == [A, B]


def test_a_message_that_no_node_will_take_is_not_repeated() -> None:
    world = World({0: A})
    publish(world, b"1")
    publish(world, b"2")
    world.refuse(last(world), E_BAD_MESSAGE)
    world.answer(last(world))

    assert published(world) == [(A, b"1"), (A, b"2")]
    outcome = world.settled()[0].outcome
    assert isinstance(outcome, Failure)
    assert outcome.code == E_BAD_MESSAGE


def test_a_publish_that_is_never_answered_fails_in_the_end() -> None:
    world = World({0: A})
    publish(world, b"1")
    world.wait(30)

    assert 1 < len(published(world)) <= 5
    assert isinstance(world.settled()[0].outcome, Failure)


def test_no_other_partition_is_taken_for_a_key_whose_partition_nobody_leads() -> None:
    world = World({0: A, 1: B})
    key = next(each for each in (b"a", b"b", b"c", b"d") if shard(each, 2) == 1)
    world.leaders = {0: A}
    publish(world, b"1", key)
    world.wait(5)

    assert published(world) == []
    assert isinstance(world.settled()[0].outcome, Failure)


def test_publishes_behind_others_at_a_silent_node_end_in_time() -> None:
    world = World({0: A})
    for number in range(20):
        publish(world, b"%d" % number)
    world.wait(20)

    assert {each.ticket for each in world.settled()} == set(range(1, 21))
    assert all(isinstance(each.outcome, Failure) for each in world.settled())


def test_what_waits_for_a_partition_that_goes_away_goes_elsewhere() -> None:
    world = World({0: A, 1: B})
    for number in range(4):
        publish(world, b"%d" % number)
    at_b = next(connection for port, connection, _ in world.commands(b"PUB") if port == B)
    world.answer(at_b)
    world.answer(at_b)
    world.leaders = {1: B}
    world.wait(2.5)
    world.answer(at_b)
    world.answer(at_b)

    assert [each.outcome for each in world.settled()] == [Receipt(1)] * 4


def test_a_publish_is_under_way_when_its_leader_moves() -> None:
    world = World({0: A})
    publish(world, b"1")
    first = last(world)
    world.leaders = {0: B}
    world.wait(1.5)
    assert first not in world.closed
    world.wait(0)
    world.answer(first)
    publish(world, b"2")

    assert isinstance(world.settled()[0].outcome, Receipt)
