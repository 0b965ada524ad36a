"""Consumer groups of a topic, and their members."""

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.iggy.observe.observations import observe
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.topics import Topic
from wireproof_kit.iggy.wire.answers import Done
from wireproof_kit.iggy.wire.connection import Connection
from wireproof_kit.runner.patience import PUSH
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.consumer_groups import GroupRequest


def make_group(server: Server, topic: Topic, group: int) -> None:
    """Make the group, once: a second request is refused, but empties it on the measured server."""
    server.ask(
        commands.CREATE_CONSUMER_GROUP, GroupRequest(topic.stream.id, topic.id, group), PUSH
    )


def join_group(server: Server, topic: Topic, group: int) -> Connection:
    """Return a new connection that has joined a group.

    Raises:
        ArrangementFailed: the server refused the request.
    """
    member = server.connect()
    request = GroupRequest(topic.stream.id, topic.id, group)
    answer = member.ask(server.request(commands.JOIN_CONSUMER_GROUP, request), PUSH)
    if not isinstance(answer, Done):
        raise ArrangementFailed(f"joining a group was answered {observe(answer).describe()}")
    return member
