"""The commands that a client sends, as bytes."""

import json

from msgspec import Struct

from wireproof_spec.decoding import encode
from wireproof_spec.nsq import names
from wireproof_spec.nsq.acknowledge import FINISH, REQUEUE, TOUCH, Finish, Requeue, Touch
from wireproof_spec.nsq.command import command_line
from wireproof_spec.nsq.identify import IDENTIFY_BODY, IdentifyBody
from wireproof_spec.nsq.publish import (
    PUB_BODY,
    PUB_EXT_BODY,
    PUB_TRACE_BODY,
    PubBody,
    PubExtBody,
    PubTraceBody,
)

USER_AGENT = "wireproof-example/1"
NOP = b"NOP\n"
CLS = b"CLS\n"


class Identity(Struct, frozen=True):
    """What a client sends with IDENTIFY on one connection."""

    heartbeat_interval_ms: int
    msg_timeout_ms: int = 0
    extend_support: bool = False
    desired_tag: str = ""


class Publish(Struct, frozen=True):
    """A message that the user wants published; `key` is the sharding id of an ordered publish."""

    body: bytes
    key: bytes | None = None
    trace_id: int | None = None
    header: dict[str, str] | None = None
    tag: str = ""

    @property
    def has_header(self) -> bool:
        """True if the message needs a topic with the extend feature, for its header."""
        return self.header is not None or bool(self.tag)


def identify(identity: Identity) -> bytes:
    """Return the first bytes of a connection: the magic, and the command IDENTIFY."""
    body = IdentifyBody(json.dumps(identify_fields(identity)).encode())
    return names.MAGIC + command_line(names.IDENTIFY) + encode(IDENTIFY_BODY, body)


def identify_fields(identity: Identity) -> dict[str, object]:
    """Return the JSON fields of IDENTIFY; their names are those of the original NSQ."""
    fields: dict[str, object] = {
        "client_id": USER_AGENT,
        "hostname": "wireproof",
        "user_agent": USER_AGENT,
        "feature_negotiation": True,
        "heartbeat_interval": identity.heartbeat_interval_ms,
        "msg_timeout": identity.msg_timeout_ms,
    }
    if identity.extend_support:
        fields[names.EXTEND_SUPPORT] = True
    if identity.desired_tag:
        fields[names.DESIRED_TAG] = identity.desired_tag
    return fields


def subscribe(topic: str, channel: str, partition: int | None, *, ordered: bool) -> bytes:
    """Return the command SUB, or SUB_ORDERED if `ordered`; an original nsqd has no partitions."""
    # The text says SUB_ORDER; every deployed node takes SUB_ORDERED alone.
    name = names.SUB_ORDERED if ordered else names.SUB
    return command_line(name, topic, channel, *_word(partition))


def publish(topic: str, partition: int | None, message: Publish) -> bytes:
    """Return the command that publishes a message: PUB, PUB_TRACE or PUB_EXT."""
    line = command_line(publish_name(message), topic, *_word(partition))
    return line + publish_body(message)


def publish_name(message: Publish) -> bytes:
    """Return the name of the command that publishes a message.

    It is PUB_EXT if there is a header; a trace id is then part of the header.
    """
    if message.has_header:
        return names.PUB_EXT
    return names.PUB if message.trace_id is None else names.PUB_TRACE


def publish_body(message: Publish) -> bytes:
    """Return the bytes after the line of a publish command."""
    if message.has_header:
        return encode(PUB_EXT_BODY, PubExtBody(header_of(message), message.body))
    if message.trace_id is None:
        return encode(PUB_BODY, PubBody(message.body))
    return encode(PUB_TRACE_BODY, PubTraceBody(message.trace_id, message.body))


def header_of(message: Publish) -> bytes:
    """Return the JSON header of a message: the user's names, the tag, the trace id as digits."""
    header = dict(message.header or {})
    if message.tag:
        header[names.CLIENT_DISPATCH_TAG] = message.tag
    if message.trace_id is not None:
        header[names.TRACE_ID] = str(message.trace_id)
    return json.dumps(header).encode()


def ready(count: int) -> bytes:
    """Return the command RDY."""
    return command_line(names.RDY, count)


def finish(id: bytes) -> bytes:
    """Return the command FIN."""
    return encode(FINISH, Finish(id))


def requeue(id: bytes, delay_ms: int) -> bytes:
    """Return the command REQ."""
    return encode(REQUEUE, Requeue(id, delay_ms))


def touch(id: bytes) -> bytes:
    """Return the command TOUCH."""
    return encode(TOUCH, Touch(id))


def _word(partition: int | None) -> tuple[int, ...]:
    return () if partition is None else (partition,)
