"""Cornered faults of Iggy: wrong in the circumstances of the corner, right everywhere else."""

from collections.abc import Sequence

import pytest

from wireproof_reference_impl.iggy.core import bodies, messages
from wireproof_reference_impl.iggy.core.server import Server, ServerEnvironment
from wireproof_reference_impl.iggy.presets import build, overrides
from wireproof_reference_impl.iggy.streams.storage import MemoryStorage
from wireproof_reference_impl.iggy.wire.message import Sent
from wireproof_reference_impl.iggy.wire.requests import (
    Consumer,
    Partitioning,
    PollMessages,
    SendMessages,
    TopicPath,
)
from wireproof_reference_impl.overrides import apply_overrides
from wireproof_spec.iggy.kinds import CONSUMER_KIND, OFFSET, PARTITION_ID

STATE_AT = 4 + 8
PLACE = TopicPath(1, 1)


def states(corner: str, *, partition: int = 1, batch: int = 1, polls: int = 1) -> Sequence[int]:
    """Return the states of the messages of a poll under a fault that breaks them in a corner."""
    name = f"state-zero@{corner}"
    with apply_overrides(overrides([name])):
        behaviour = build("published", "published", fault_names=[name], variant_names=[])
        server = Server(behaviour, ServerEnvironment(MemoryStorage(), new_id=lambda: 7))
        server.create_stream(1, "s", 0)
        server.create_topic(1, 1, "t", partitions=2, now_us=0)
        where = Partitioning(PARTITION_ID, partition.to_bytes(4, "little"))
        sent = [Sent(1, None, b"payload")] * batch
        messages.send(server, SendMessages(PLACE, where, sent), 0)
        consumer = Consumer(CONSUMER_KIND, 1)
        request = PollMessages(consumer, PLACE, partition, OFFSET, 0, 100, False)
        told = [
            bodies.encode_polled(messages.poll(server, request, None), behaviour.message)
            for _ in range(polls)
        ]
        body = told[-1]
        size = len(body[4:]) // batch
        return [body[STATE_AT + size * number] for number in range(batch)]


@pytest.mark.parametrize(
    ("corner", "partition", "batch", "polls", "is_broken"),
    [
        ("partition=first", 1, 1, 1, True),
        ("partition=first", 2, 1, 1, False),
        ("partition=last", 2, 1, 1, True),
        ("batch=one", 1, 1, 1, True),
        ("batch=one", 1, 2, 1, False),
        ("batch=several", 1, 2, 1, True),
        ("poll=first", 1, 1, 1, True),
        ("poll=first", 1, 1, 2, False),
        ("poll=again", 1, 1, 2, True),
        ("path=http", 1, 1, 1, False),
        ("path=tcp", 1, 1, 1, True),
        ("value=payload-small", 1, 1, 1, False),
        ("value=headers-none", 1, 1, 1, True),
        ("partition=last+poll=again", 2, 1, 2, True),
        ("partition=last+poll=again", 1, 1, 2, False),
    ],
)
def test_a_fault_is_wrong_in_its_corner_only(
    corner: str, partition: int, batch: int, polls: int, is_broken: bool
) -> None:
    found = states(corner, partition=partition, batch=batch, polls=polls)
    assert set(found) == {0 if is_broken else 1}


def test_one_strategy_of_several_is_wrong_in_its_corner_only() -> None:
    name = "poll-offset-ignored@partition=last"
    starts = build("published", "published", fault_names=[name], variant_names=[]).poll.starts
    right = build("published", "published", fault_names=[], variant_names=[]).poll.starts
    assert starts.keys() == right.keys()


def test_only_messages_behind_nine_others_are_wrong() -> None:
    assert list(states("number=many", batch=11)) == [1] * 9 + [0] * 2
