"""The lookup process of the example client: rounds, servers that fail, answers merged."""

import json

import pytest
from client_world import World

from wireproof_reference_impl.nsq.client.core.commands import Publish
from wireproof_reference_impl.nsq.client.core.effects import Failure
from wireproof_reference_impl.nsq.client.core.settings import Subscribing
from wireproof_reference_impl.nsq.client.core.topology import (
    BadAnswer,
    Place,
    merge,
    read_listlookup,
    read_lookup,
)

NODE = {"broadcast_address": "h", "tcp_port": 5, "remote_address": "elsewhere:1"}
L1, L2 = "l1:1", "l2:2"


def body(**fields: object) -> bytes:
    return json.dumps(fields).encode()


def consume(world: World) -> None:
    world.client.consume(Subscribing("t", "c"), world.now)
    world.run()


def lookups(world: World, port: int) -> int:
    found = [each for each in world.fetched if each.target.startswith("/lookup")]
    return sum(each.address[1] == port for each in found)


@pytest.mark.parametrize("wrapped", [False, True])
def test_both_shapes_are_read_in_both_forms(*, wrapped: bool) -> None:
    new = {"partitions": {"3": NODE}, "producers": [NODE], "meta": {"partition_num": 4}}
    old = {"channels": [], "producers": [NODE, NODE]}

    def form(fields: dict[str, object]) -> bytes:
        return body(status_code=200, status_txt="OK", data=fields) if wrapped else body(**fields)

    assert read_lookup(form(dict(new))).places == (Place(3, ("h", 5)),)
    assert not read_lookup(form(dict(new))).is_complete
    assert read_lookup(form(dict(old))).places == (Place(None, ("h", 5)),)


@pytest.mark.parametrize("data", [b"", b"[]", b"null", b"{", b"[" * 100_000, b"\xff"])
def test_what_is_no_object_is_no_answer(data: bytes) -> None:
    with pytest.raises(BadAnswer):
        read_lookup(data)


def test_a_bad_record_hides_no_other() -> None:
    partitions = {"0": {"tcp_port": "x"}, "one": NODE, "1": {**NODE, "tcp_port": 1 << 32}}
    found = read_lookup(body(partitions={**partitions, "2": NODE}, meta={"partition_num": "x"}))

    assert found.places == (Place(2, ("h", 5)),)
    nodes = [{"NodeIP": "h", "HttpPort": "7"}, {"NodeIP": 3}, "x"]
    assert read_listlookup(body(lookupdnodes=nodes)) == ("h:7",)


def test_answers_are_merged_and_the_later_one_counts() -> None:
    one = read_lookup(body(partitions={"0": NODE, "1": NODE}, meta={"partition_num": 2}))
    other = read_lookup(body(partitions={"1": {**NODE, "tcp_port": 6}}))

    assert merge([one, other]).leaders == {0: ("h", 5), 1: ("h", 6)}
    assert merge([one, other]).is_complete


def test_what_a_server_said_counts_while_it_fails() -> None:
    world = World({0: 11, 1: 12}, lookupd=(L1, L2))
    world.known = {L1: {0: 11}, L2: {1: 12}}
    consume(world)
    world.dead = {L2}
    world.wait(300)

    assert len(world.commands(b"SUB")) >= 2
    assert {port for port, _, _ in world.commands(b"SUB")} == {11, 12}
    assert lookups(world, 2) < lookups(world, 1), "it is asked less often"


def test_dead_servers_are_not_asked_in_a_loop() -> None:
    world = World({0: 11})
    world.dead = {L1}
    consume(world)
    for _ in range(50):
        world.client.publish("t", Publish(b"x"), world.now)
        world.wait(0.02)

    assert len(world.fetched) <= 40
    world.wait(30)
    assert all(isinstance(each.outcome, Failure) for each in world.settled())
    assert len(world.settled()) == 50
