"""Commands about the server and its clients."""

from collections.abc import Callable

from wireproof_reference_impl.iggy.core import bodies, stats
from wireproof_reference_impl.iggy.core.session import Action, CommandContext, Handler
from wireproof_reference_impl.iggy.wire.checks import check_client
from wireproof_reference_impl.iggy.wire.fields import Fields
from wireproof_reference_impl.iggy.wire.status import invalid_command


def plain(act: Callable[[CommandContext], bytes]) -> Handler:
    """Return the handler of a command whose payload is empty."""

    def handler(fields: Fields) -> Action:
        fields.expect_end()
        return act

    return handler


def kill(session: CommandContext) -> bytes:
    """Refuse to end the server, as the measured server does unless built to permit it."""
    raise invalid_command()


def ping(session: CommandContext) -> bytes:
    """Return the empty response body that answers PING."""
    return b""


def get_stats(session: CommandContext) -> bytes:
    """Return the response body with figures of process, machine and data."""
    return bodies.stats(stats.count(session.server, session.now_us))


def get_me(session: CommandContext) -> bytes:
    """Return the response body that describes the asking client."""
    return bodies.client(session.client)


def get_clients(session: CommandContext) -> bytes:
    """Return the response body that lists all connected clients."""
    return bodies.clients(session.server.clients.values())


def get_client(fields: Fields) -> Action:
    """Return the action that answers a request with one client."""
    number = fields.u32()
    fields.expect_end()
    check_client(number)
    return lambda session: bodies.client(session.server.client(number))
