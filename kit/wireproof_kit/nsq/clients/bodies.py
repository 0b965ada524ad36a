"""The messages in a client's publish command."""

from wireproof_kit.nsq.clients.events import Commanded
from wireproof_spec.decoding import decode
from wireproof_spec.nsq.command_reader import BODIES
from wireproof_spec.nsq.publish import (
    MpubBody,
    MpubExtBody,
    MpubTraceBody,
    PubBody,
    PubExtBody,
    PubTraceBody,
)
from wireproof_spec.wire_error import WireError

_SIZE = 4


def messages_of(event: Commanded) -> tuple[bytes, ...]:
    """Return the message bodies in a publish command, without trace ids and headers.

    A batch has several of them; one that cannot be split counts as one message.
    """
    try:
        sized = len(event.body).to_bytes(_SIZE, "big") + event.body
        body = decode(BODIES[event.name.encode()], sized)
    except WireError:
        return (event.body,)
    if isinstance(body, MpubBody | MpubTraceBody | MpubExtBody):
        return tuple(message.body for message in body.messages)
    return (body.body if isinstance(body, PubBody | PubTraceBody | PubExtBody) else event.body,)
