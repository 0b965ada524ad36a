"""Commands about the server and its clients."""

from collections.abc import Callable

from wireproof_reference_impl.iggy.core import bodies, stats
from wireproof_reference_impl.iggy.core.session import Action, Handler, Session
from wireproof_reference_impl.iggy.wire.checks import check_client
from wireproof_reference_impl.iggy.wire.fields import Fields
from wireproof_reference_impl.iggy.wire.status import invalid_command


def plain(act: Callable[[Session], bytes]) -> Handler:
    """Return the handler of a command without fields."""

    def handler(fields: Fields) -> Action:
        fields.nothing()
        return act

    return handler


def kill(session: Session) -> bytes:
    """End the server: no, that has to be asked for when it is built."""
    raise invalid_command()


def ping(session: Session) -> bytes:
    """Say that the server lives."""
    return b""


def get_stats(session: Session) -> bytes:
    """Tell of process, machine and counts."""
    return bodies.stats(stats.count(session.server, session.now_us))


def get_me(session: Session) -> bytes:
    """Tell the client of itself."""
    return bodies.client(session.client)


def get_clients(session: Session) -> bytes:
    """Tell of all clients."""
    return bodies.clients(session.server.clients.values())


def get_client(fields: Fields) -> Action:
    """Tell of a client."""
    number = fields.u32()
    fields.nothing()
    check_client(number)
    return lambda session: bodies.client(session.server.client(number))
