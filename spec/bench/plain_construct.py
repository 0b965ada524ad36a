"""The ext message in construct's own words, interpreted: an anchor to be beaten."""

import construct
from construct import this

from wireproof_spec.nsq.message import Extend, Message

MESSAGE = construct.Struct(
    "timestamp_ns" / construct.Int64sb,
    "attempts" / construct.Int16ub,
    "internal_id" / construct.Int64ub,
    "trace_id" / construct.Int64ub,
    "version" / construct.Int8ub,
    "data"
    / construct.If(this.version, construct.Prefixed(construct.Int16ub, construct.GreedyBytes)),
    "body" / construct.GreedyBytes,
)


def decode(data: bytes) -> Message:
    """Decode to the same value as all others."""
    found = MESSAGE.parse(data)
    return Message(
        found["timestamp_ns"],
        found["attempts"],
        found["internal_id"],
        found["trace_id"],
        Extend(found["version"], found["data"]),
        None,
        None,
        found["body"],
    )


def encode(message: Message) -> bytes:
    """Encode the same value."""
    extend = message.extend
    return MESSAGE.build(
        {
            "timestamp_ns": message.timestamp_ns,
            "attempts": message.attempts,
            "internal_id": message.internal_id,
            "trace_id": message.trace_id,
            "version": extend and extend.version,
            "data": extend and extend.data,
            "body": message.body,
        }
    )
