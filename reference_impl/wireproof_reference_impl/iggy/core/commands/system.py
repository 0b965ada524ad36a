"""Commands about the server and its clients."""

from collections.abc import Callable

from wireproof_reference_impl.iggy.core import bodies, stats
from wireproof_reference_impl.iggy.core.session import Action, CommandContext, Handler
from wireproof_reference_impl.iggy.wire.checks import check_client
from wireproof_reference_impl.iggy.wire.fields import Fields
from wireproof_reference_impl.iggy.wire.status import invalid_command


def plain(act: Callable[[CommandContext], bytes]) -> Handler:
    """Return the handler of a command without fields."""

    def handler(fields: Fields) -> Action:
        fields.expect_end()
        return act

    return handler


def kill(session: CommandContext) -> bytes:
    """Refuse to end the server, as the measured server does unless built with that feature."""
    raise invalid_command()


def ping(session: CommandContext) -> bytes:
    """Answer a ping."""
    return b""


def get_stats(session: CommandContext) -> bytes:
    """Answer with process, machine and counts."""
    return bodies.stats(stats.count(session.server, session.now_us))


def get_me(session: CommandContext) -> bytes:
    """Answer with the client itself."""
    return bodies.client(session.client)


def get_clients(session: CommandContext) -> bytes:
    """Answer with all clients."""
    return bodies.clients(session.server.clients.values())


def get_client(fields: Fields) -> Action:
    """Answer with a client."""
    number = fields.u32()
    fields.expect_end()
    check_client(number)
    return lambda session: bodies.client(session.server.client(number))
