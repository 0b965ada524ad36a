"""Consumer groups: partitions shared among members, each message to one of them."""

from collections.abc import Sequence

import pytest

from wireproof_kit.case import case
from wireproof_kit.iggy.observe.observations import observe, observe_unread
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.topics import Topic
from wireproof_kit.iggy.wire.connection import Connection
from wireproof_kit.iggy.wire.payloads import Polling
from wireproof_kit.observation import Observation, observed
from wireproof_spec.iggy.kinds import GROUP_KIND, NEXT
from wireproof_suites.iggy.steps.consumer_groups import join_group, make_group
from wireproof_suites.iggy.steps.poll_results import send_and_check

GROUP = 7
GROUP_POLL = Polling(consumer=GROUP, kind=GROUP_KIND, strategy=NEXT, auto_commit=1)


@case("iggy/poll/group", clause="iggy.poll.group")
@pytest.mark.parametrize("partitions", [1, 3])
def test_group(server: Server, partitions: int) -> Observation:
    """The only member of a consumer group polls the messages of all partitions."""
    topic = _fill(server, partitions)
    make_group(server, topic, GROUP)

    return _polled_by(server, topic, [join_group(server, topic, GROUP)])


@case("iggy/poll/group-shared", clause="iggy.poll.group")
@pytest.mark.parametrize("members", [2, 4])
def test_shared(server: Server, members: int) -> Observation:
    """Members of a consumer group share the partitions: one member polls each message."""
    topic = _fill(server, 4)
    make_group(server, topic, GROUP)

    return _polled_by(server, topic, [join_group(server, topic, GROUP) for _ in range(members)])


@case("iggy/poll/group-not-joined", clause="iggy.poll.group")
def test_not_joined(server: Server) -> Observation:
    """A poll for a consumer group that the client has not joined is refused."""
    topic = _fill(server, 1)
    make_group(server, topic, GROUP)
    with server.connect() as stranger:
        polled = server.poll(topic, GROUP_POLL, on=stranger)

        return observe(polled.answer, then=stranger.goes_on())


def _fill(server: Server, partitions: int) -> Topic:
    topic = server.new_topic(partitions)
    for partition in range(1, partitions + 1):
        send_and_check(server, topic, 1, partition=partition)
    return topic


def _polled_by(server: Server, topic: Topic, members: Sequence[Connection]) -> Observation:
    """Let members poll by turns, twice for each partition; say whether each message came once."""
    found: list[int] = []
    for _ in range(2 * topic.partitions):
        for member in members:
            polled = server.poll(topic, GROUP_POLL, on=member)
            unread = observe_unread(polled)
            if unread is not None:
                return unread
            found += [each.id for each in polled.messages]
    if len(set(found)) < topic.partitions:
        return observed("delivered:fewer", note=f"{len(set(found))} of {topic.partitions}")

    return observed("delivered:all" if len(found) == topic.partitions else "delivered:twice")
