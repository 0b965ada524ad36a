"""FIN, REQ and TOUCH: lines with a raw 16-byte message id, which may contain line feeds.

The fields have fixed positions, so these lines are not split at spaces. Brokers cut them by
position; the measured broker checks only the first 3 letters (TOUCH: 5).
"""

from msgspec import Struct

from wireproof_spec.decoding import Schema
from wireproof_spec.grammar.layout import Bytes, Field, Literal, Record, field
from wireproof_spec.grammar.texts import Decimal
from wireproof_spec.nsq import names

MESSAGE_ID_SIZE = 16
"""Bytes: internal id (8), trace id (8)."""


class Finish(Struct, frozen=True, gc=False):
    """The command FIN: the client has processed the message."""

    message_id: bytes


class Requeue(Struct, frozen=True, gc=False):
    """The command REQ: the broker must deliver the message again after a delay."""

    message_id: bytes
    timeout_ms: int


class Touch(Struct, frozen=True, gc=False):
    """The command TOUCH: the client needs more time for the message."""

    message_id: bytes


def _line(value_type: type, name: bytes, *parameters: Field) -> Record:
    return Record(
        value_type,
        field("name", Literal(name)),
        field("space", Literal(b" ")),
        field("message_id", Bytes(MESSAGE_ID_SIZE)),
        *parameters,
        field("line_feed", Literal(b"\n")),
    )


FINISH = Schema("FIN", "smart.message-id.finish", Finish, _line(Finish, names.FIN))
"""`FIN`, space, `message_id`, line feed."""
TOUCH = Schema("TOUCH", "smart.connection.touch", Touch, _line(Touch, names.TOUCH))
"""`TOUCH`, space, `message_id`, line feed."""
REQUEUE = Schema(
    "REQ",
    "smart.connection.requeue",
    Requeue,
    _line(
        Requeue,
        names.REQ,
        field("second_space", Literal(b" ")),
        field("timeout_ms", Decimal()),
    ),
)
"""`REQ`, space, `message_id`, space, `timeout_ms` in decimal digits, line feed."""
