"""AUTH: there is no auth server, so every secret is refused."""

from collections.abc import Sequence

from wireproof_reference_impl.nsq.core.commands import sized
from wireproof_reference_impl.nsq.core.connection import Connection, Reading
from wireproof_reference_impl.nsq.core.refusal import Refusal
from wireproof_reference_impl.nsq.core.states import Event
from wireproof_spec.nsq.error_codes import E_AUTH_DISABLED, E_BAD_BODY, E_INVALID


def auth(connection: Connection, words: Sequence[bytes]) -> Reading:
    """Read the secret and say that authorisation is switched off."""
    connection.move(Event.AUTH)
    if len(words) != 1:
        raise Refusal(E_INVALID, "AUTH invalid number of parameters")
    size = yield from sized.number(otherwise=_refused("failed to read body size"))
    limit = connection.node.limits.body
    yield from sized.check_size(
        connection,
        size,
        limit=limit,
        invalid=_refused(f"invalid body size {size}"),
        too_big=_refused(f"body too big {size} > {limit}"),
    )
    yield from sized.exactly(size, otherwise=_refused("failed to read body"))
    raise Refusal(E_AUTH_DISABLED, "AUTH Disabled")


def _refused(text: str) -> Refusal:
    return Refusal(E_BAD_BODY, f"AUTH {text}")
