"""Topics over HTTP on a node without a cluster, with the answers of nsqlookupd."""

from wireproof_reference_impl.nsq.core.node import Node
from wireproof_reference_impl.nsq.core.topic import Topic
from wireproof_reference_impl.nsq.requests.http_request import (
    Answer,
    HttpRefusal,
    Request,
    answer_nothing,
)
from wireproof_spec.nsq import error_codes
from wireproof_spec.nsq.limits import MAX_PARTITIONS_CREATED
from wireproof_spec.nsq.names import is_valid_name

_MOST_PARTITIONS = 255
_MOST_REPLICAS = 5
_ALL = "**"


def create(node: Node, request: Request) -> Answer:
    """Handle an HTTP request that creates a topic with all its partitions on this node."""
    name = _name(request, error_codes.INVALID_ARG_TOPIC)
    partitions = _partition_count(request)
    _check_replicator(request)
    extend, ordered = _flag(request, "extend"), _flag(request, "orderedmulti")
    topic = node.topics.get(name)
    if topic is not None and not _same(topic, partitions, extend=extend, ordered=ordered):
        raise HttpRefusal(400, "already exist")
    node.create(name, range(partitions), extend=extend, ordered=ordered)
    return answer_nothing()


def update(node: Node, request: Request) -> Answer:
    """Handle an HTTP request that upgrades a topic; nothing else can be changed.

    Clause: ext.upgrade.accept
    """
    topic = _find_topic(node, _name(request, "invalid topic name"))
    if topic is None:
        raise HttpRefusal(400, "topic is not created")
    if _flag(request, "upgradeext"):
        node.upgrade(topic)
    return answer_nothing()


def delete(node: Node, request: Request) -> Answer:
    """Handle an HTTP request that removes a topic with all its partitions."""
    name = _name(request, error_codes.INVALID_ARG_TOPIC)
    partition = request.text("partition")
    if not partition:
        raise HttpRefusal(400, "MISSING_ARG_TOPIC_PARTITION")
    if partition != _ALL:
        raise HttpRefusal(400, "REMOVE_SINGLE_PARTITION_NOT_ALLOWED")
    topic = _find_topic(node, name)
    if topic is not None:
        node.delete(topic, request.now_ns)
    elif not _flag(request, "force"):
        raise HttpRefusal(500, "Key not found")
    return answer_nothing()


def _find_topic(node: Node, name: str) -> Topic | None:
    return node.topics.get(name)


def _name(request: Request, invalid: str) -> str:
    name = request.text("topic")
    if not name:
        raise HttpRefusal(400, error_codes.MISSING_ARG_TOPIC)
    if not is_valid_name(name):
        raise HttpRefusal(400, invalid)
    return name


def _partition_count(request: Request) -> int:
    text = request.text("partition_num")
    if not text:
        raise HttpRefusal(400, error_codes.MISSING_ARG_TOPIC_PARTITION_NUM)
    count = _number(text)
    if not 1 <= count <= _MOST_PARTITIONS:
        raise HttpRefusal(400, error_codes.INVALID_ARG_TOPIC_PARTITION_NUM)
    if count > MAX_PARTITIONS_CREATED:
        raise HttpRefusal(400, "max partition allowed exceed")
    return count


def _check_replicator(request: Request) -> None:
    """Refuse an invalid number of replicas; a valid one has no effect."""
    text = request.text("replicator") or "1"
    if not 1 <= _number(text) <= _MOST_REPLICAS:
        raise HttpRefusal(400, error_codes.INVALID_ARG_TOPIC_REPLICATOR)


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _flag(request: Request, name: str) -> bool:
    return request.query.get(name) == b"true"


def _same(topic: Topic, partitions: int, *, extend: bool, ordered: bool) -> bool:
    kind = (len(topic.partitions), topic.extend, topic.ordered)
    return kind == (partitions, extend, ordered)
