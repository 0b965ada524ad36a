"""What a case sends: one word per command, every declared size open to be made wrong.

The bytes and the names of their parts come from the grammar. A keyword such as ``size`` or
``header_length`` writes another number over the right one, labelled as made wrong; the rest
of the frame stays as it was.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import Final

from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.outgoing import Outgoing, from_grammar
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

HEADER_LIMIT = 0xFFFF

Word = str | bytes | int
Header = Mapping[str, object] | bytes


class _Own(Enum):
    """Stands for the topic's own partition."""

    PARTITION = "own"


OWN: Final = _Own.PARTITION
Partition = Word | _Own | None


def raw(data: bytes, what: str) -> Outgoing:
    """Send bytes as they are."""
    return Outgoing(data, (Part(0, len(data), what),), what)


def line(*words: Word) -> Outgoing:
    """Send a command line: words between single blanks, then LF."""
    text = b" ".join(_bytes(word) for word in words) + b"\n"
    return Outgoing(text, (Part(0, len(text), "command line"),), _printable(words[0]))


def magic() -> Outgoing:
    """Open the protocol."""
    return raw(names.MAGIC, "magic")


def identify(**fields: object) -> Outgoing:
    """Say who is there: a JSON object of the given fields."""
    return identify_raw(header_bytes(fields))


def identify_raw(text: bytes, *, size: int | None = None) -> Outgoing:
    """Send IDENTIFY with any bytes for its JSON."""
    body = from_grammar(IDENTIFY_BODY, IdentifyBody(json=text), overrides={"size": size})
    return (line(names.IDENTIFY) + body).called("IDENTIFY")


def auth(secret: bytes) -> Outgoing:
    """Show a secret."""
    return line(names.AUTH) + raw(len(secret).to_bytes(4) + secret, "size and secret")


def subscribe(
    topic: Topic,
    channel: Word,
    *,
    command: Word = names.SUB,
    partition: Partition = OWN,
    topic_name: Word | None = None,
) -> Outgoing:
    """Subscribe to a channel; ``partition=None`` leaves the word out."""
    words = [command, topic.name if topic_name is None else topic_name, channel]
    return line(*words, *_partition(topic, partition))


def rdy(count: Word) -> Outgoing:
    """Say how many messages may be in flight."""
    return line(names.RDY, count)


def fin(message_id: bytes) -> Outgoing:
    """Finish a message; an id of any length is sent as it is."""
    if len(message_id) != MESSAGE_ID_SIZE:
        return line(names.FIN, message_id)
    return from_grammar(FINISH, Finish(message_id), what="FIN")


def req(message_id: bytes, timeout_ms: Word) -> Outgoing:
    """Put a message back; an id of any length and any time-out word are sent as they are."""
    if len(message_id) != MESSAGE_ID_SIZE or not isinstance(timeout_ms, int) or timeout_ms < 0:
        return line(names.REQ, message_id, timeout_ms)
    return from_grammar(REQUEUE, Requeue(message_id, timeout_ms), what="REQ")


def touch(message_id: bytes) -> Outgoing:
    """Ask for more time with a message; an id of any length is sent as it is."""
    if len(message_id) != MESSAGE_ID_SIZE:
        return line(names.TOUCH, message_id)
    return from_grammar(TOUCH, Touch(message_id), what="TOUCH")


def cls() -> Outgoing:
    """Announce the end of a subscription."""
    return line(names.CLS)


def nop() -> Outgoing:
    """Answer a heartbeat."""
    return line(names.NOP)


def internal_create_topic(name: Word, partition: Word, *, extend: bool = False) -> Outgoing:
    """Create a topic on a broker that stands alone."""
    words: tuple[Word, ...] = (names.INTERNAL_CREATE_TOPIC, name, partition)
    return line(*words, "true") if extend else line(*words)


def pub(
    topic: Topic,
    body: bytes,
    *,
    partition: Partition = OWN,
    size: int | None = None,
    topic_name: Word | None = None,
    command_line: bytes | None = None,
) -> Outgoing:
    """Publish a body."""
    content = from_grammar(PUB_BODY, PubBody(body=body), overrides={"size": size})
    return _command(names.PUB, topic, content, partition, topic_name, command_line)


def pub_trace(
    topic: Topic,
    trace_id: int,
    body: bytes,
    *,
    partition: Partition = OWN,
    size: int | None = None,
    topic_name: Word | None = None,
    command_line: bytes | None = None,
) -> Outgoing:
    """Publish a body under a trace id."""
    value = PubTraceBody(trace_id=trace_id, body=body)
    content = from_grammar(PUB_TRACE_BODY, value, overrides={"size": size})
    return _command(names.PUB_TRACE, topic, content, partition, topic_name, command_line)


def pub_ext(
    topic: Topic,
    header: Header,
    body: bytes,
    *,
    header_length: int | None = None,
    size: int | None = None,
    partition: Partition = OWN,
    topic_name: Word | None = None,
    command_line: bytes | None = None,
) -> Outgoing:
    """Publish a body under a JSON header, given as a mapping or as bytes of any kind.

    A header beyond 65535 bytes is sent whole; its length field then says 65535 unless given.
    """
    text = header_bytes(header)
    value = PubExtBody(json_header=text[:HEADER_LIMIT], body=text[HEADER_LIMIT:] + body)
    overrides = {"size": size, "header_length": header_length}
    content = _judged(from_grammar(PUB_EXT_BODY, value, overrides=overrides), text)
    return _command(names.PUB_EXT, topic, content, partition, topic_name, command_line)


def mpub(
    topic: Topic,
    bodies: Sequence[bytes],
    *,
    partition: Partition = OWN,
    size: int | None = None,
    count: int | None = None,
    topic_name: Word | None = None,
    command_line: bytes | None = None,
) -> Outgoing:
    """Publish several bodies in one command."""
    value = MpubBody(messages=tuple(PubBody(body=body) for body in bodies))
    overrides = {"size": size, "count": count}
    content = from_grammar(MPUB_BODY, value, overrides=overrides)
    return _command(names.MPUB, topic, content, partition, topic_name, command_line)


def mpub_trace(
    topic: Topic,
    messages: Sequence[tuple[int, bytes]],
    *,
    partition: Partition = OWN,
    size: int | None = None,
    count: int | None = None,
    topic_name: Word | None = None,
    command_line: bytes | None = None,
) -> Outgoing:
    """Publish several bodies, each under its trace id, in one command."""
    value = MpubTraceBody(
        messages=tuple(PubTraceBody(trace_id=trace, body=body) for trace, body in messages)
    )
    overrides = {"size": size, "count": count}
    content = from_grammar(MPUB_TRACE_BODY, value, overrides=overrides)
    return _command(names.MPUB_TRACE, topic, content, partition, topic_name, command_line)


def mpub_ext(
    topic: Topic,
    messages: Sequence[tuple[Header, bytes]],
    *,
    partition: Partition = OWN,
    size: int | None = None,
    count: int | None = None,
    topic_name: Word | None = None,
    command_line: bytes | None = None,
) -> Outgoing:
    """Publish several bodies, each under its own header, in one command."""
    value = MpubExtBody(
        messages=tuple(
            PubExtBody(json_header=header_bytes(header), body=body) for header, body in messages
        )
    )
    overrides = {"size": size, "count": count}
    content = from_grammar(MPUB_EXT_BODY, value, overrides=overrides)
    return _command(names.MPUB_EXT, topic, content, partition, topic_name, command_line)


def is_as_published(header: bytes) -> bool:
    """Tell whether a header is what the text asks for: names of the class, string values."""
    try:
        read = strict_json.read(header)
    except WireError:
        return False
    value = read.value
    if read.faults or not isinstance(value, dict):
        return False
    return all(names.is_header_name(k) and isinstance(v, str) for k, v in value.items())


def header_bytes(header: Header) -> bytes:
    """Return a header's bytes; a mapping is dumped compactly, its text as UTF-8."""
    if isinstance(header, bytes):
        return header
    return json.dumps(dict(header), ensure_ascii=False, separators=(",", ":")).encode()


def _judged(content: Outgoing, header: bytes) -> Outgoing:
    """Mark the header as made wrong when it is not what the text asks for."""
    if is_as_published(header):
        return content

    def parts() -> Iterator[Part]:
        for part in content.parts:
            is_header = part.label.startswith("json_header")
            yield replace(part, wrong=True) if is_header else part

    return replace(content, parts=LateParts(parts))


def _command(
    name: bytes,
    topic: Topic,
    content: Outgoing,
    partition: Partition,
    topic_name: Word | None,
    command_line: bytes | None,
) -> Outgoing:
    if command_line is not None:
        end = len(command_line)
        head = Outgoing(command_line, (Part(0, end, "command line", wrong=True),))
    else:
        word = topic.name if topic_name is None else topic_name
        head = line(name, word, *_partition(topic, partition))
    return (head + content).called(name.decode())


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
