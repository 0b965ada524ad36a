"""PUB_EXT: one message with a JSON header."""

from collections.abc import Sequence

from wireproof_reference_impl.nsq.core.commands import publish
from wireproof_reference_impl.nsq.core.connection import Connection, Reading
from wireproof_reference_impl.nsq.core.topic import Partition, Topic
from wireproof_reference_impl.nsq.wire import frame_reading
from wireproof_reference_impl.nsq.wire.frame_reading import Split
from wireproof_reference_impl.nsq.wire.header import Header
from wireproof_reference_impl.nsq.wire.message import NewMessage, PublishResult
from wireproof_reference_impl.nsq.wire.refusal import Refusal
from wireproof_spec.nsq.error_codes import E_EXT_NOT_SUPPORT
from wireproof_spec.nsq.names import OK

HEADER_LENGTH_BYTES = 2


def pub_ext(connection: Connection, words: Sequence[bytes]) -> Reading:
    """Run PUB_EXT: store one message with its header; if traced, answer with its position."""
    rules = connection.node.behaviour.publish
    to = publish.address(connection, words)
    size = yield from publish.body_size(connection)
    partition = yield from publish.locate(connection, to, size)
    if size <= HEADER_LENGTH_BYTES:
        text = f"invalid body size {size} with ext json header enabled"
        raise Refusal(rules.bad_size, text)
    data = yield from publish.read_body(connection, size)
    split = split_body(connection, data)
    header = read_header(connection, partition, split.header)
    stored = publish.store(connection, partition, (entry(partition, header, split),))
    connection.respond(answer(connection, header, stored))


def answer(connection: Connection, header: Header, stored: PublishResult) -> bytes:
    """Return the answer to a PUB_EXT: the message's position if it has a trace id, else OK.

    Clause: ext.publish.ok-response, ext.publish.trace-response
    """
    if header.trace_id is None:
        return OK
    return connection.node.behaviour.publish.ext_trace_response(stored)


def split_body(connection: Connection, data: bytes) -> Split:
    """Split a PUB_EXT body into header and message.

    Raises:
        Refusal: the header length leaves no byte for the body, or runs past the frame.
    """
    split = frame_reading.split_header(data)
    if split is None:
        text = f"invalid body size {len(data)} in ext json header content length"
        raise Refusal(connection.node.behaviour.publish.bad_size, text)
    return split


def read_header(connection: Connection, partition: Partition, data: bytes) -> Header:
    """Check the header of a PUB_EXT, and return the fields that the broker needs.

    Raises:
        Refusal: the header breaks a rule, or the topic has no extend feature; not fatal.
    """
    header = connection.node.behaviour.publish.header(data)
    if not partition.topic.extend:
        raise not_supported(partition.topic)
    return header


def not_supported(topic: Topic) -> Refusal:
    """Return the refusal of a header on a topic without the extend feature.

    Clause: ext.publish.plain-topic
    """
    text = f"ext content not supported in topic {topic.name}"
    return Refusal(E_EXT_NOT_SUPPORT, text, fatal=False)


def entry(partition: Partition, header: Header, split: Split) -> NewMessage:
    """Return the message of a PUB_EXT as it is stored, with its header unchanged.

    Clause: ext.consume.header-intact
    """
    return NewMessage(split.body, header.trace_id or 0, split.header, header.tag)
