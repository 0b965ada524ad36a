"""The rows of faults of the example Iggy client; their clauses begin with ``iggy.client.``."""

from collections.abc import Callable
from typing import cast

from wireproof_reference_impl.client_faults import Rows, constant, die
from wireproof_reference_impl.iggy.client import driver
from wireproof_reference_impl.iggy.client.core import messages
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_spec.iggy.message import Message

__all__ = [
    "EVERY_POLL",
    "around",
    "boundary",
    "condition",
    "constant",
    "die",
    "extra",
    "missing",
    "on_read",
    "on_told",
    "wrong_value",
]

_ROWS = Rows("iggy.client.")
missing, boundary, wrong_value = _ROWS.missing, _ROWS.boundary, _ROWS.wrong_value
extra, condition = _ROWS.extra, _ROWS.condition

EVERY_POLL = "layout state unknown-state headers verify ask-again bounded position"
"""The clauses whose cases poll messages that a client can read."""

Messages = tuple[Message, ...]


def on_read(change: Callable[[Messages], Messages]) -> tuple[Override, Override]:
    """Return overrides that change the messages a client reads, over TCP and over HTTP."""

    def call(original: Original, body: bytes, generation: object) -> object:
        return change(cast(Messages, original(body, generation)))

    return around(messages, "read_body", call), around(messages, "read_json", call)


def on_told(change: Callable[[dict[str, object]], object]) -> Override:
    """Return an override that changes what the client tells its user of a message, in place."""

    def call(original: Original, message: Message) -> object:
        told = dict(cast(dict[str, object], original(message)))
        change(told)
        return told

    return around(driver, "tell", call)
