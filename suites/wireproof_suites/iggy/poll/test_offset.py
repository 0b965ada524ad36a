"""Stored offsets: one for each consumer in each partition, reported as stored."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.iggy.observe.observations import observe
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.topics import Topic
from wireproof_kit.iggy.wire.answers import Done
from wireproof_kit.iggy.wire.payloads import Polling
from wireproof_kit.observation import Observation, first_unlike, observed
from wireproof_spec.iggy.kinds import NEXT
from wireproof_suites.iggy.steps.poll_results import offsets_of, send_and_check
from wireproof_suites.iggy.steps.stored_offsets import AS_STORED, observe_offset

OFFSETS = {"0": (0,), "3": (3,), "4-then-1": (4, 1), "1-then-4": (1, 4), "2-then-0": (2, 0)}


@case("iggy/poll/consumers-apart", clause="iggy.poll.consumer")
def test_consumers_apart(server: Server) -> Observation:
    """The server keeps a separate offset for each consumer in each partition."""
    topic = server.new_topic(partitions=2)
    for partition in (1, 2):
        send_and_check(server, topic, 5, partition=partition)
    wanted = {(1, 1): 1, (1, 2): 2, (2, 1): 3, (2, 2): 4}
    known = {each: offsets_of(server, topic, 5, partition=each) for each in (1, 2)}
    for (consumer, partition), which in wanted.items():
        offset = known[partition][which]
        server.store_offset(topic, offset, consumer=consumer, partition=partition)
    found = (
        observe_offset(
            server, topic, known[partition][which], consumer=consumer, partition=partition
        )
        for (consumer, partition), which in wanted.items()
    )

    return first_unlike(found, AS_STORED)


@case("iggy/poll/stored-offset", clause="iggy.poll.stored-offset")
@pytest.mark.parametrize("offsets", OFFSETS.values(), ids=OFFSETS)
def test_stored_offset(server: Server, topic: Topic, offsets: tuple[int, ...]) -> Observation:
    """The server returns the offset a consumer stored, also after it was overwritten."""
    send_and_check(server, topic, 5)
    known = offsets_of(server, topic, 5)
    found = (_stored_and_told(server, topic, known[which]) for which in offsets)

    return first_unlike(found, AS_STORED)


@case("iggy/poll/stored-offset/committed", clause="iggy.poll.auto-commit")
def test_committed_offset(server: Server, topic: Topic) -> Observation:
    """The server returns the offset that a poll with auto-commit stored."""
    send_and_check(server, topic, 5)
    due = offsets_of(server, topic, 5)[2]
    server.poll(topic, Polling(strategy=NEXT, count=3, auto_commit=1))

    return observe_offset(server, topic, due)


@case("iggy/poll/never-stored", clause="iggy.poll.never-stored")
@pytest.mark.parametrize("consumer", [1, 4294967295])
def test_never_stored(server: Server, topic: Topic, consumer: int) -> Observation:
    """Asked for an offset that no consumer stored, the server returns 0, nothing or an error."""
    send_and_check(server, topic, 3)
    answer = server.ask_offset(topic, consumer=consumer)
    if not isinstance(answer, Done):
        return observe(answer, then=server.client.goes_on())
    if not answer.body:
        return observed("ok,none")

    return observed(f"offset:{server.stored_offset(topic, consumer=consumer)}")


def _stored_and_told(server: Server, topic: Topic, offset: int) -> Observation:
    answer = server.store_offset(topic, offset)
    if not isinstance(answer, Done):
        return observe(answer)
    return observe_offset(server, topic, offset)
