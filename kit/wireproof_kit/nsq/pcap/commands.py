"""Commands: a line, and for some commands a size and a body."""

import re
from typing import ClassVar

from scapy.fields import AnyField, FieldLenField, LongField, StrField

from wireproof_kit.nsq.pcap.lines import Digits, LineEnd, Name, Word, Words
from wireproof_kit.pcap.layer import Always, Bounded, Layer, Layers, Octets, Short, cut

MAGIC = b"  V2"
_ACKNOWLEDGEMENT = re.compile(rb"(FIN|REQ|TOUCH)([ \r\n])")
"""Commands whose message id may contain any byte, even a line feed."""


class Magic(Layer):
    """Scapy layer of the magic, the first four bytes on a connection."""

    name = "NSQ magic"
    fields_desc: ClassVar = [Always("magic", MAGIC)]


class Plain(Layer):
    """Scapy layer of a command without a body: RDY, CLS, NOP, or an unknown one."""

    name = "NSQ command"
    fields_desc: ClassVar = [Name("command_name", b"NOP"), Words("words"), LineEnd()]


class Ready(Layer):
    """Scapy layer of RDY: how many messages may be in flight."""

    name = "NSQ RDY"
    fields_desc: ClassVar = [
        Name("command_name", b"RDY"),
        Word("count", b"1"),
        Words("words"),
        LineEnd(),
    ]


class Subscribe(Layer):
    """Scapy layer of SUB, SUB_ADVANCED, SUB_ORDERED, and the published name SUB_ORDER."""

    name = "NSQ SUB"
    fields_desc: ClassVar = [
        Name("command_name", b"SUB"),
        Word("topic", b"t"),
        Word("channel", b"c"),
        Word("partition", b"0"),
        Word("offset", None),
        Words("words"),
        LineEnd(),
    ]


class CreateTopic(Layer):
    """Scapy layer of INTERNAL_CREATE_TOPIC: topic, partition, whether it has extend headers."""

    name = "NSQ INTERNAL_CREATE_TOPIC"
    fields_desc: ClassVar = [
        Name("command_name", b"INTERNAL_CREATE_TOPIC"),
        Word("topic", b"t"),
        Word("partition", b"0"),
        Word("extend", None),
        Words("words"),
        LineEnd(),
    ]


class Identify(Layer):
    """Scapy layer of IDENTIFY: what the client is and asks for, as JSON."""

    name = "NSQ IDENTIFY"
    fields_desc: ClassVar = [
        Name("command_name", b"IDENTIFY"),
        Words("words"),
        LineEnd(),
        FieldLenField("size", None, length_of="identity", fmt="!i"),
        Octets("identity", b"{}", lambda pkt: pkt.size),
    ]


class Authenticate(Layer):
    """Scapy layer of AUTH, with the secret."""

    name = "NSQ AUTH"
    fields_desc: ClassVar = [
        Name("command_name", b"AUTH"),
        Words("words"),
        LineEnd(),
        FieldLenField("size", None, length_of="secret", fmt="!i"),
        Octets("secret", b"secret", lambda pkt: pkt.size),
    ]


class Body(Layer):
    """Scapy layer of a published message as PUB has it: only the body."""

    name = "NSQ body"
    fields_desc: ClassVar = [StrField("body", b"body")]


class TracedBody(Layer):
    """Scapy layer of a published message that starts with a trace id."""

    name = "NSQ body with a trace id"
    fields_desc: ClassVar = [LongField("trace_id", 0), StrField("body", b"body")]


class ExtendedBody(Layer):
    """Scapy layer of a published message that starts with a JSON header and its length."""

    name = "NSQ body with a header"
    fields_desc: ClassVar = [
        FieldLenField("header_length", None, length_of="json_header", fmt="!H"),
        Octets("json_header", b"{}", lambda pkt: pkt.header_length),
        StrField("body", b"body"),
    ]


def _one(kind: type[Layer], *, least: int = 0) -> list[AnyField]:
    """Return the fields of a message or a batch: its size and what the size covers."""
    return [
        FieldLenField("size", None, length_of="content", fmt="!i"),
        Bounded("content", kind, lambda pkt: pkt.size, least=least),
    ]


def _make_publish_line(word: bytes) -> list[AnyField]:
    """Return the fields of the line of a command that publishes."""
    return [
        Name("command_name", word),
        Word("topic", b"t"),
        Word("partition", b"0"),
        Words("words"),
        LineEnd(),
    ]


class Publish(Layer):
    """Scapy layer of PUB."""

    name = "NSQ PUB"
    fields_desc: ClassVar = [*_make_publish_line(b"PUB"), *_one(Body)]


class PublishTraced(Layer):
    """Scapy layer of PUB_TRACE."""

    name = "NSQ PUB_TRACE"
    fields_desc: ClassVar = [*_make_publish_line(b"PUB_TRACE"), *_one(TracedBody, least=8)]


class PublishExtended(Layer):
    """Scapy layer of PUB_EXT."""

    name = "NSQ PUB_EXT"
    fields_desc: ClassVar = [*_make_publish_line(b"PUB_EXT"), *_one(ExtendedBody, least=2)]


class Published(Layer):
    """Scapy layer of one message in an MPUB."""

    name = "NSQ MPUB message"
    fields_desc: ClassVar = _one(Body)


class PublishedTraced(Layer):
    """Scapy layer of one message in an MPUB_TRACE."""

    name = "NSQ MPUB_TRACE message"
    fields_desc: ClassVar = _one(TracedBody, least=8)


class PublishedExtended(Layer):
    """Scapy layer of one message in an MPUB_EXT."""

    name = "NSQ MPUB_EXT message"
    fields_desc: ClassVar = _one(ExtendedBody, least=2)


def _batch(kind: type[Layer]) -> list[AnyField]:
    """Return the fields of a batch: the number of messages, then the messages."""
    return [
        FieldLenField("count", None, count_of="messages", fmt="!i"),
        Layers("messages", kind, count_from=lambda pkt: pkt.count),
    ]


class Batch(Layer):
    """Scapy layer of the body of an MPUB: several messages."""

    name = "NSQ batch"
    fields_desc: ClassVar = _batch(Published)


class TracedBatch(Layer):
    """Scapy layer of the body of an MPUB_TRACE: several messages."""

    name = "NSQ batch with trace ids"
    fields_desc: ClassVar = _batch(PublishedTraced)


class ExtendedBatch(Layer):
    """Scapy layer of the body of an MPUB_EXT: several messages."""

    name = "NSQ batch with headers"
    fields_desc: ClassVar = _batch(PublishedExtended)


class PublishMany(Layer):
    """Scapy layer of MPUB."""

    name = "NSQ MPUB"
    fields_desc: ClassVar = [*_make_publish_line(b"MPUB"), *_one(Batch, least=4)]


class PublishManyTraced(Layer):
    """Scapy layer of MPUB_TRACE."""

    name = "NSQ MPUB_TRACE"
    fields_desc: ClassVar = [*_make_publish_line(b"MPUB_TRACE"), *_one(TracedBatch, least=4)]


class PublishManyExtended(Layer):
    """Scapy layer of MPUB_EXT."""

    name = "NSQ MPUB_EXT"
    fields_desc: ClassVar = [*_make_publish_line(b"MPUB_EXT"), *_one(ExtendedBatch, least=4)]


def _make_acknowledge_line(word: bytes) -> list[AnyField]:
    """Return the fields of a command that names a message: high half, low half of its id."""
    return [
        Always("command_name", word),
        Always("blank", b" "),
        LongField("internal_id", 1),
        LongField("trace_id", 0),
    ]


class Finish(Layer):
    """Scapy layer of FIN."""

    name = "NSQ FIN"
    fields_desc: ClassVar = [*_make_acknowledge_line(b"FIN"), Always("line_feed", b"\n")]


class Touch(Layer):
    """Scapy layer of TOUCH."""

    name = "NSQ TOUCH"
    fields_desc: ClassVar = [*_make_acknowledge_line(b"TOUCH"), Always("line_feed", b"\n")]


class Requeue(Layer):
    """Scapy layer of REQ: the message id, and the delay in milliseconds."""

    name = "NSQ REQ"
    fields_desc: ClassVar = [
        *_make_acknowledge_line(b"REQ"),
        Always("second_blank", b" "),
        Digits("timeout_ms", b"0"),
        Always("line_feed", b"\n"),
    ]


COMMANDS: dict[bytes, type[Layer]] = {
    b"IDENTIFY": Identify,
    b"AUTH": Authenticate,
    b"PUB": Publish,
    b"PUB_TRACE": PublishTraced,
    b"PUB_EXT": PublishExtended,
    b"MPUB": PublishMany,
    b"MPUB_TRACE": PublishManyTraced,
    b"MPUB_EXT": PublishManyExtended,
    b"SUB": Subscribe,
    b"SUB_ADVANCED": Subscribe,
    b"SUB_ORDERED": Subscribe,
    b"SUB_ORDER": Subscribe,
    b"INTERNAL_CREATE_TOPIC": CreateTopic,
    b"RDY": Ready,
    b"FIN": Finish,
    b"REQ": Requeue,
    b"TOUCH": Touch,
}


def read_command(data: bytes) -> tuple[Layer, bytes]:
    """Decode one command; return it and the bytes after it.

    Raises:
        LayerViolation: its body does not fit the command.
        Short: the command is incomplete.
    """
    found = _ACKNOWLEDGEMENT.match(data)
    behind_id = found.end() + 16 if found and found[2] == b" " else 0
    end = data.find(b"\n", behind_id)
    if end < 0:
        raise Short("line: expected a line feed, found none")
    if found:
        return cut(COMMANDS[found[1]], data)
    word = data[:end].removesuffix(b"\r").partition(b" ")[0]
    return cut(COMMANDS.get(word, Plain), data)
