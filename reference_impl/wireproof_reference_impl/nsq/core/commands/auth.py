"""AUTH: a client presents the secret; without a configured secret every one is refused."""

import json
from collections.abc import Sequence

from wireproof_reference_impl.nsq.core.commands import sized
from wireproof_reference_impl.nsq.core.connection import Connection, Reading
from wireproof_reference_impl.nsq.core.states import Event
from wireproof_reference_impl.nsq.wire.refusal import Refusal
from wireproof_spec.nsq.error_codes import E_AUTH_DISABLED, E_AUTH_FAILED, E_BAD_BODY, E_INVALID

_GRANTED = {"identity": "", "identity_url": "", "permission_count": 1}


def auth(connection: Connection, words: Sequence[bytes]) -> Reading:
    """Run AUTH: check the secret and answer what it permits, everything or nothing."""
    connection.move(Event.AUTH)
    if len(words) != 1:
        raise Refusal(E_INVALID, "AUTH invalid number of parameters")
    size = yield from sized.number(otherwise=lambda: _refuse("failed to read body size"))
    limit = connection.node.limits.body
    sized.check_size(
        size,
        limit=limit,
        invalid=lambda: _refuse(f"invalid body size {size}"),
        too_big=lambda: _refuse(f"body too big {size} > {limit}"),
    )
    secret = yield from sized.exactly(size, otherwise=lambda: _refuse("failed to read body"))
    if connection.authorized:
        raise Refusal(E_INVALID, "AUTH Already set")
    access = connection.node.access
    if not access.asks:
        raise Refusal(E_AUTH_DISABLED, "AUTH Disabled")
    if not access.admits(secret):
        raise Refusal(E_AUTH_FAILED, "AUTH failed")
    connection.authorized = True
    connection.respond(json.dumps(_GRANTED, separators=(",", ":")).encode())


def _refuse(text: str) -> Refusal:
    return Refusal(E_BAD_BODY, f"AUTH {text}")
