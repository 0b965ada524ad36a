"""The result section in front of a reply's body, and the confirmations of a send."""

from construct import this
from msgspec import Struct

from wireproof_spec.decoding import Schema
from wireproof_spec.grammar.layout import Int32ul, Int64ul, Record, Rest, field
from wireproof_spec.grammar.lengths import Count, Many


class Rejection(Struct, frozen=True, gc=False):
    """An entry of a result section: the status code `result` for the item `index`."""

    index: int
    result: int


class Result(Struct, frozen=True, gc=False):
    """The body of a result-framed reply: no rejection and a payload, or one rejection alone."""

    rejections: tuple[Rejection, ...] = ()
    payload: bytes = b""


class Confirmation(Struct, frozen=True, gc=False):
    """Where the messages of a send were stored: a partition, and the offset of the first one."""

    stream_id: int
    topic_id: int
    partition_id: int
    base_offset: int


class Confirmations(Struct, frozen=True, gc=False):
    """The body of the reply to a send."""

    confirmations: tuple[Confirmation, ...]


_REJECTION = Record(Rejection, field("index", Int32ul), field("result", Int32ul))

RESULT = Schema(
    "apache result",
    "iggy.apache.reply.result",
    Result,
    Record(
        Result,
        field("count", Count(Int32ul, of="rejections")),
        field("rejections", Many(_REJECTION, count=this.count)),
        field("payload", Rest),
    ),
)
"""4-byte `count`, so many times 4-byte `index` and 4-byte `result`, then the payload."""

_CONFIRMATION = Record(
    Confirmation,
    field("stream_id", Int32ul),
    field("topic_id", Int32ul),
    field("partition_id", Int32ul),
    field("base_offset", Int64ul),
)

CONFIRMATIONS = Schema(
    "apache confirmations",
    "iggy.apache.send.confirm",
    Confirmations,
    Record(
        Confirmations,
        field("count", Count(Int32ul, of="confirmations")),
        field("confirmations", Many(_CONFIRMATION, count=this.count)),
    ),
)
"""4-byte `count`, so many times `stream_id`, `topic_id`, `partition_id` (4 bytes each) and 8-byte
`base_offset`."""
