"""Publishing over HTTP: /pub, /pub_ext, /pubtrace and /mpub."""

from collections.abc import Sequence

from wireproof_reference_impl.nsq.core.commands import publish
from wireproof_reference_impl.nsq.core.commands.publish_many import read_batch
from wireproof_reference_impl.nsq.core.node import Node
from wireproof_reference_impl.nsq.core.topic import Partition, Topic
from wireproof_reference_impl.nsq.requests.http_request import (
    Answer,
    HttpRefusal,
    Request,
    data,
    plain,
)
from wireproof_reference_impl.nsq.wire.header import Header
from wireproof_reference_impl.nsq.wire.message import NewMessage, PublishResult
from wireproof_reference_impl.nsq.wire.refusal import Refusal
from wireproof_reference_impl.nsq.wire.words import BadWord, integer
from wireproof_spec.nsq import error_codes
from wireproof_spec.nsq.names import X_NSQEXT

_OK = b"OK"
_ANY_PARTITION = -1


def pub(node: Node, request: Request) -> Answer:
    """Handle POST /pub: publish the body."""
    partition = _partition(node, request)
    _store(node, partition, [NewMessage(request.body)], request)
    return plain(_OK, v1=request.v1)


def pub_ext(node: Node, request: Request) -> Answer:
    """Handle POST /pub_ext: publish the body with a header.

    Clause: ext.http
    """
    rules = node.behaviour.http
    partition = _partition(node, request)
    try:
        stored_header = rules.build_header(request.query.get("ext", b""), extra_fields(request))
        header = rules.header(stored_header)
    except Refusal as refusal:
        raise HttpRefusal(400, refusal.code) from refusal
    if len(stored_header) > rules.max_header:
        raise HttpRefusal(503, "extend data exceed the limit")
    check_support(partition.topic)
    stored = _store(node, partition, [ext_entry(request, stored_header, header)], request)
    if header.trace_id is None:
        return untraced_answer(node, request)
    return data(rules.trace_answer(stored), v1=request.v1 or rules.trace_bare)


def check_support(topic: Topic) -> None:
    """Check that a topic has the extend feature.

    Clause: ext.http.plain-topic

    Raises:
        HttpRefusal: the topic does not have the feature.
    """
    if not topic.extend:
        raise HttpRefusal(400, error_codes.E_EXT_NOT_SUPPORT)


def ext_entry(request: Request, stored_header: bytes, header: Header) -> NewMessage:
    """Return the message to store for a /pub_ext request.

    Clause: ext.http.header-stored
    """
    return NewMessage(request.body, header.trace_id or 0, stored_header, header.tag)


def untraced_answer(node: Node, request: Request) -> Answer:
    """Return the answer to a /pub_ext request without a trace id.

    Clause: ext.http.accept
    """
    return plain(node.behaviour.http.ok, v1=request.v1)


def pubtrace(node: Node, request: Request) -> Answer:
    """Handle POST /pubtrace: publish the body with a trace id, and answer with its position."""
    text = request.text("trace_id")
    if not (text.isascii() and text.isdigit() and len(text) < 40 and int(text) < 1 << 64):
        raise HttpRefusal(400, error_codes.INVALID_TRACE_ID)
    partition = _partition(node, request)
    stored = _store(node, partition, [NewMessage(request.body, int(text))], request)
    return data(node.behaviour.http.trace_answer(stored), v1=True)


def mpub(node: Node, request: Request) -> Answer:
    """Handle POST /mpub: publish each line, or with `binary` the messages of an MPUB body."""
    try:
        number = _partition_number(request)
    except BadWord as bad:
        raise HttpRefusal(400, str(bad)) from bad
    partition = _find_partition(node, request, number)
    _store(node, partition, _messages(node, request), request)
    return plain(_OK, v1=request.v1)


def extra_fields(request: Request) -> list[tuple[bytes, bytes]]:
    """Return the X-NSQEXT- headers of an HTTP request: names without that prefix, and values."""
    prefix = X_NSQEXT.encode()
    return [
        (name[len(prefix) :], value)
        for name, value in request.headers
        if name[: len(prefix)].upper() == prefix
    ]


def _partition(node: Node, request: Request) -> Partition:
    try:
        return _find_partition(node, request, _partition_number(request))
    except BadWord as bad:
        raise HttpRefusal(404, error_codes.E_TOPIC_NOT_EXIST) from bad


def _partition_number(request: Request) -> int | None:
    word = request.query.get("partition")
    number = integer(word) if word else _ANY_PARTITION
    return None if number == _ANY_PARTITION else number


def _find_partition(node: Node, request: Request, number: int | None) -> Partition:
    partition = node.find(request.text("topic"), number)
    if partition is None:
        raise HttpRefusal(404, error_codes.E_TOPIC_NOT_EXIST)
    return partition


def _store(
    node: Node, partition: Partition, entries: Sequence[NewMessage], request: Request
) -> PublishResult:
    try:
        publish.check_role(partition)
        stored = partition.publish(entries, request.now_ns)
    except Refusal as refusal:
        raise HttpRefusal(400, refusal.code) from refusal
    except OSError as error:
        raise HttpRefusal(503, str(error)) from error
    node.touch(partition)
    node.settle(request.now_ns)
    return stored


def _messages(node: Node, request: Request) -> list[NewMessage]:
    if "binary" in request.query:
        try:
            return [NewMessage(each) for each in read_batch(node.limits, request.body)]
        except Refusal as refusal:
            raise HttpRefusal(413, refusal.code.removeprefix("E_")) from refusal
    lines = [line for line in request.body.split(b"\n") if line]
    if not lines:
        raise HttpRefusal(406, error_codes.MSG_EMPTY)
    if max(map(len, lines)) > node.limits.message:
        raise HttpRefusal(413, error_codes.MSG_TOO_BIG)
    return [NewMessage(line) for line in lines]
