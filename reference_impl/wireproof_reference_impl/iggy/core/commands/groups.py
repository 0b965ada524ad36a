"""Commands about consumer groups."""

from collections.abc import Callable

from wireproof_reference_impl.iggy.core import bodies
from wireproof_reference_impl.iggy.core.commands import reading
from wireproof_reference_impl.iggy.core.session import Action, CommandContext, Handler
from wireproof_reference_impl.iggy.wire.checks import check_group
from wireproof_reference_impl.iggy.wire.fields import Fields
from wireproof_reference_impl.iggy.wire.requests import TopicPath


def get_group(fields: Fields) -> Action:
    """Return the action that answers a request with one consumer group."""
    place, number = _group(fields)
    return lambda session: bodies.group(session.server.topic(place).group(number))


def get_groups(fields: Fields) -> Action:
    """Return the action that answers a request with all consumer groups of a topic."""
    place = reading.place(fields)
    return lambda session: bodies.groups(session.server.topic(place).groups.values())


def _handler(do: Callable[[CommandContext, TopicPath, int], object]) -> Handler:
    def handler(fields: Fields) -> Action:
        place, number = _group(fields)

        def act(session: CommandContext) -> bytes:
            do(session, place, number)
            return b""

        return act

    return handler


def _create(session: CommandContext, place: TopicPath, number: int) -> None:
    session.server.create_group(place, number)


def _delete(session: CommandContext, place: TopicPath, number: int) -> None:
    session.server.delete_group(place, number)


def _join(session: CommandContext, place: TopicPath, number: int) -> None:
    session.server.join(place, number, session.client)


def _leave(session: CommandContext, place: TopicPath, number: int) -> None:
    session.server.leave(place, number, session.client)


def _group(fields: Fields) -> tuple[TopicPath, int]:
    place, number = reading.place(fields), fields.u32()
    check_group(number)
    return place, number


create_group = _handler(_create)
delete_group = _handler(_delete)
join_group = _handler(_join)
leave_group = _handler(_leave)
