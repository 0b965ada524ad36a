"""Builds the commands that a case sends; every declared size can be set to a wrong value.

The bytes and the names of their parts come from the grammar. A keyword such as ``size`` or
``header_length`` writes another number over the right one, labelled as made wrong; the rest
of the frame stays as it was.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import Final, TypedDict, Unpack

from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.wire.outgoing import Outgoing, from_grammar
from wireproof_kit.wire.transcript import LateParts, Part
from wireproof_spec import strict_json
from wireproof_spec.nsq import names
from wireproof_spec.nsq.acknowledge import (
    FINISH,
    MESSAGE_ID_SIZE,
    REQUEUE,
    TOUCH,
    Finish,
    Requeue,
    Touch,
)
from wireproof_spec.nsq.identify import IDENTIFY_BODY, IdentifyBody
from wireproof_spec.nsq.publish import (
    MPUB_BODY,
    MPUB_EXT_BODY,
    MPUB_TRACE_BODY,
    PUB_BODY,
    PUB_EXT_BODY,
    PUB_TRACE_BODY,
    MpubBody,
    MpubExtBody,
    MpubTraceBody,
    PubBody,
    PubExtBody,
    PubTraceBody,
)
from wireproof_spec.wire_error import WireError

# The header length is a 2-byte field; what exceeds it becomes part of the body.
HEADER_LIMIT = 0xFFFF

Word = str | bytes | int
Header = Mapping[str, object] | bytes


class _Own(Enum):
    """Default value that stands for the topic's own partition."""

    PARTITION = "own"


OWN: Final = _Own.PARTITION
Partition = Word | _Own | None


class PublishLine(TypedDict, total=False):
    """How the line of a publish command differs: ``None`` omits the partition.

    ``command_line`` stands in the place of the whole line.
    """

    partition: Partition
    topic_name: Word | None
    command_line: bytes | None


def raw(data: bytes, what: str) -> Outgoing:
    """Return any bytes as a command to send, without labelled parts."""
    return Outgoing(data, (Part(0, len(data), what),), what)


def line(*words: Word) -> Outgoing:
    """Return a command line: words separated by single spaces, then LF."""
    text = b" ".join(_bytes(word) for word in words) + b"\n"
    return Outgoing(text, (Part(0, len(text), "command line"),), _printable(words[0]))


def magic() -> Outgoing:
    """Return the magic: the first bytes on a connection, which name the protocol version."""
    return raw(names.MAGIC, "magic")


def identify(**fields: object) -> Outgoing:
    """Return IDENTIFY with a JSON object of the given fields."""
    return identify_raw(header_bytes(fields))


def identify_raw(text: bytes, *, size: int | None = None) -> Outgoing:
    """Return IDENTIFY with any bytes as its JSON."""
    body = from_grammar(IDENTIFY_BODY, IdentifyBody(json=text), overrides={"size": size})
    return (line(names.IDENTIFY) + body).rename("IDENTIFY")


def auth(secret: bytes) -> Outgoing:
    """Return AUTH with a secret."""
    return line(names.AUTH) + raw(len(secret).to_bytes(4) + secret, "size and secret")


def subscribe(
    topic: Topic,
    channel: Word,
    *,
    command: Word = names.SUB,
    partition: Partition = OWN,
    topic_name: Word | None = None,
) -> Outgoing:
    """Return a SUB command; ``partition=None`` omits the partition."""
    words = [command, topic.name if topic_name is None else topic_name, channel]
    return line(*words, *_partition(topic, partition))


def rdy(count: Word) -> Outgoing:
    """Return RDY with the number of messages that may be in flight."""
    return line(names.RDY, count)


def fin(message_id: bytes) -> Outgoing:
    """Return FIN with a message id of any length."""
    if len(message_id) != MESSAGE_ID_SIZE:
        return line(names.FIN, message_id)
    return from_grammar(FINISH, Finish(message_id), what="FIN")


def req(message_id: bytes, timeout_ms: Word) -> Outgoing:
    """Return REQ with a message id of any length and any timeout."""
    if len(message_id) != MESSAGE_ID_SIZE or not isinstance(timeout_ms, int) or timeout_ms < 0:
        return line(names.REQ, message_id, timeout_ms)
    return from_grammar(REQUEUE, Requeue(message_id, timeout_ms), what="REQ")


def touch(message_id: bytes) -> Outgoing:
    """Return TOUCH with a message id of any length."""
    if len(message_id) != MESSAGE_ID_SIZE:
        return line(names.TOUCH, message_id)
    return from_grammar(TOUCH, Touch(message_id), what="TOUCH")


def cls() -> Outgoing:
    """Return CLS, which announces the end of a subscription."""
    return line(names.CLS)


def nop() -> Outgoing:
    """Return NOP, the answer to a heartbeat."""
    return line(names.NOP)


def internal_create_topic(name: Word, partition: Word, *, extend: bool = False) -> Outgoing:
    """Return INTERNAL_CREATE_TOPIC, which creates a topic on a standalone broker."""
    words: tuple[Word, ...] = (names.INTERNAL_CREATE_TOPIC, name, partition)
    return line(*words, "true") if extend else line(*words)


def pub(
    topic: Topic,
    body: bytes,
    *,
    size: int | None = None,
    **given: Unpack[PublishLine],
) -> Outgoing:
    """Return PUB with a body."""
    content = from_grammar(PUB_BODY, PubBody(body=body), overrides={"size": size})
    return _command(names.PUB, topic, content, given)


def pub_trace(
    topic: Topic,
    trace_id: int,
    body: bytes,
    *,
    size: int | None = None,
    **given: Unpack[PublishLine],
) -> Outgoing:
    """Return PUB_TRACE with a trace id and a body."""
    value = PubTraceBody(trace_id=trace_id, body=body)
    content = from_grammar(PUB_TRACE_BODY, value, overrides={"size": size})
    return _command(names.PUB_TRACE, topic, content, given)


def pub_ext(
    topic: Topic,
    header: Header,
    body: bytes,
    *,
    header_length: int | None = None,
    size: int | None = None,
    **given: Unpack[PublishLine],
) -> Outgoing:
    """Return PUB_EXT with a JSON header, given as a mapping or as any bytes, and a body.

    A header beyond 65535 bytes is sent whole; its length field then says 65535 unless given.
    """
    text = header_bytes(header)
    value = PubExtBody(json_header=text[:HEADER_LIMIT], body=text[HEADER_LIMIT:] + body)
    overrides = {"size": size, "header_length": header_length}
    content = _mark_wrong(from_grammar(PUB_EXT_BODY, value, overrides=overrides), text)
    return _command(names.PUB_EXT, topic, content, given)


def mpub(
    topic: Topic,
    bodies: Sequence[bytes],
    *,
    size: int | None = None,
    count: int | None = None,
    **given: Unpack[PublishLine],
) -> Outgoing:
    """Return MPUB with several bodies."""
    value = MpubBody(messages=tuple(PubBody(body=body) for body in bodies))
    overrides = {"size": size, "count": count}
    content = from_grammar(MPUB_BODY, value, overrides=overrides)
    return _command(names.MPUB, topic, content, given)


def mpub_trace(
    topic: Topic,
    messages: Sequence[tuple[int, bytes]],
    *,
    size: int | None = None,
    count: int | None = None,
    **given: Unpack[PublishLine],
) -> Outgoing:
    """Return MPUB_TRACE with several bodies, each with its trace id."""
    value = MpubTraceBody(
        messages=tuple(PubTraceBody(trace_id=trace, body=body) for trace, body in messages)
    )
    overrides = {"size": size, "count": count}
    content = from_grammar(MPUB_TRACE_BODY, value, overrides=overrides)
    return _command(names.MPUB_TRACE, topic, content, given)


def mpub_ext(
    topic: Topic,
    messages: Sequence[tuple[Header, bytes]],
    *,
    size: int | None = None,
    count: int | None = None,
    **given: Unpack[PublishLine],
) -> Outgoing:
    """Return MPUB_EXT with several bodies, each with its own header."""
    value = MpubExtBody(
        messages=tuple(
            PubExtBody(json_header=header_bytes(header), body=body) for header, body in messages
        )
    )
    overrides = {"size": size, "count": count}
    content = from_grammar(MPUB_EXT_BODY, value, overrides=overrides)
    return _command(names.MPUB_EXT, topic, content, given)


def is_as_published(header: bytes) -> bool:
    """Return True if a header has only published names and string values."""
    try:
        read = strict_json.read(header)
    except WireError:
        return False
    value = read.value
    if read.faults or not isinstance(value, dict):
        return False
    return all(names.is_header_name(k) and isinstance(v, str) for k, v in value.items())


def header_bytes(header: Header) -> bytes:
    """Return the bytes of a header; a mapping becomes compact JSON in UTF-8."""
    if isinstance(header, bytes):
        return header
    return json.dumps(dict(header), ensure_ascii=False, separators=(",", ":")).encode()


def _mark_wrong(content: Outgoing, header: bytes) -> Outgoing:
    """Mark the header as deliberately wrong when it violates the published text."""
    if is_as_published(header):
        return content

    def parts() -> Iterator[Part]:
        for part in content.parts:
            is_header = part.label.startswith("json_header")
            yield replace(part, wrong=True) if is_header else part

    return replace(content, parts=LateParts(parts))


def _command(name: bytes, topic: Topic, content: Outgoing, given: PublishLine) -> Outgoing:
    command_line = given.get("command_line")
    if command_line is not None:
        end = len(command_line)
        head = Outgoing(command_line, (Part(0, end, "command line", wrong=True),))
    else:
        word = given.get("topic_name")
        words = _partition(topic, given.get("partition", OWN))
        head = line(name, topic.name if word is None else word, *words)
    return (head + content).rename(name.decode())


def _partition(topic: Topic, partition: Partition) -> tuple[Word, ...]:
    if partition is None:
        return ()
    return (topic.partition,) if isinstance(partition, _Own) else (partition,)


def _bytes(word: Word) -> bytes:
    if isinstance(word, bytes):
        return word
    return str(word).encode()


def _printable(word: Word) -> str:
    return _bytes(word).decode("ascii", "replace")
