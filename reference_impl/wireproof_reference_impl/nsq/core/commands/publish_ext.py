"""PUB_EXT: one message with a JSON header."""

from collections.abc import Sequence

from wireproof_reference_impl.nsq.core.commands import publish
from wireproof_reference_impl.nsq.core.connection import Connection, Reading
from wireproof_reference_impl.nsq.core.frame_reading import Split
from wireproof_reference_impl.nsq.core.header import Header
from wireproof_reference_impl.nsq.core.message import Entry
from wireproof_reference_impl.nsq.core.refusal import Refusal
from wireproof_reference_impl.nsq.core.topic import Partition
from wireproof_spec.nsq.error_codes import E_EXT_NOT_SUPPORT

HEADER_LENGTH_BYTES = 2


def pub_ext(connection: Connection, words: Sequence[bytes]) -> Reading:
    """Store one message with its header; a trace id in it is answered with its place."""
    rules = connection.node.behaviour.publish
    to = publish.address(connection, words)
    size = yield from publish.body_size(connection)
    partition = yield from publish.locate(connection, to, size)
    if size <= HEADER_LENGTH_BYTES:
        text = f"invalid body size {size} with ext json header enabled"
        raise Refusal(rules.bad_size, text)
    data = yield from publish.body(connection, size)
    split = split_body(connection, data)
    header = read_header(connection, partition, split.header)
    stored = publish.store(
        connection, partition, (entry(connection, partition, header=header, split=split),)
    )
    traced = rules.traced(header, connection.published)
    connection.respond(rules.ext_trace_response(stored) if traced else rules.ok(stored))
    connection.published = header


def split_body(connection: Connection, data: bytes) -> Split:
    """Take header and body apart.

    Raises:
        Refusal: the header length leaves no byte for the body, or runs past the frame.
    """
    split = connection.node.behaviour.parser.split(data)
    if split is None:
        text = f"invalid body size {len(data)} in ext json header content length"
        raise Refusal(connection.node.behaviour.publish.bad_size, text)
    return split


def read_header(connection: Connection, partition: Partition, data: bytes) -> Header:
    """Check a header and read what the broker needs of it.

    Raises:
        Refusal: the header breaks a rule, or the topic has no extend feature; not fatal.
    """
    rules = connection.node.behaviour.publish
    header = rules.header(data)
    if not rules.takes_header(data, partition.topic):
        text = f"ext content not supported in topic {partition.topic.name}"
        raise Refusal(E_EXT_NOT_SUPPORT, text, fatal=False)
    return header


def entry(connection: Connection, partition: Partition, *, header: Header, split: Split) -> Entry:
    """Return the message to store."""
    rules = connection.node.behaviour.publish
    stored_header = rules.stored_header(split.header, partition.topic)
    return Entry(split.body, header.trace_id or 0, stored_header, header.tag)
