"""Decodes answers of lookup servers: returns a value, or raises a one-sentence error.

Four forms are understood: that of the redesigned nsqlookupd and, without partitions, that of the
original one; each bare (v1) or in the envelope of old. Whatever else comes is `Unusable`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from wireproof_kit.decoding.printable import printable
from wireproof_kit.nsq.lookup.errors import LookupRequest, read_payload, short
from wireproof_kit.nsq.topics.topic import Address
from wireproof_kit.nsq.wire.http import HttpAnswer
from wireproof_kit.wire.address import is_host
from wireproof_spec.strict_json import JsonValue

T = TypeVar("T")

PORTS = range(1, 0x10000)


@dataclass(frozen=True, slots=True)
class Leader:
    """A partition, and the addresses of the node that leads it."""

    partition: int
    address: Address
    http_address: Address | None


@dataclass(frozen=True, slots=True)
class Node:
    """A node listed by lookup servers, with its addresses and version."""

    address: Address
    http_address: Address | None
    version: str = ""


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """The decoded response to a lookup: the reachable partitions, and the topic's metadata.

    ``nodes`` are the producers listed. ``is_partitioned`` is False for the answer of an original
    nsqlookupd, ``is_disabled`` is True if the lists are null, as while writing is disabled.
    """

    leaders: tuple[Leader, ...]
    meta: Mapping[str, JsonValue]
    channels: tuple[str, ...] = ()
    nodes: tuple[Node, ...] = ()
    is_partitioned: bool = True
    is_disabled: bool = False


@dataclass(frozen=True, slots=True)
class Servers:
    """The decoded response to listlookup: HTTP addresses of all lookup servers and the master."""

    master: Address | None
    all: tuple[Address, ...]


def read_topic(answer: HttpAnswer, asked: LookupRequest) -> TopicInfo:
    """Decode the response to /lookup; ``asked`` is the request, for error messages.

    Raises:
        Unusable: the answer is invalid; the message says where.
    """
    data = read_payload(answer, asked)
    if not {"partitions", "producers"} & data.keys():
        raise asked.unusable(
            "expected partitions and producers, bare or within status_code, status_txt and data; "
            f"found {_names(data)}"
        )
    places = _object_or_null(data, "partitions", asked)
    for name in places:
        if not _is_number(name):
            raise asked.wrong("name in partitions", expected="a partition number", found=name)
    producers = _list_or_null(data, "producers", asked)
    meta = _object_or_null(data, "meta", asked)
    return TopicInfo(
        leaders=tuple(
            _leader(number, places[number], asked) for number in sorted(places, key=int)
        ),
        meta=meta,
        channels=tuple(str(name) for name in _list_or_null(data, "channels", asked)),
        nodes=_nodes(producers, asked),
        is_partitioned="partitions" in data,
        is_disabled="partitions" in data and data["partitions"] is None,
    )


def read_nodes(answer: HttpAnswer, asked: LookupRequest) -> tuple[Node, ...]:
    """Decode the response to /nodes; ``asked`` is the request, for error messages.

    Raises:
        Unusable: the answer is invalid; the message says where.
    """
    data = read_payload(answer, asked)
    if "producers" not in data:
        raise asked.unusable(f"expected producers, found {_names(data)}")
    return _nodes(_list_or_null(data, "producers", asked), asked)


def read_topics(answer: HttpAnswer, asked: LookupRequest) -> tuple[str, ...]:
    """Decode the response to /topics; ``asked`` is the request, for error messages.

    Raises:
        Unusable: the answer is invalid; the message says where.
    """
    data = read_payload(answer, asked)
    if "topics" not in data:
        raise asked.unusable(f"expected topics, found {_names(data)}")
    return tuple(str(name) for name in _list_or_null(data, "topics", asked))


def read_servers(answer: HttpAnswer, asked: LookupRequest) -> Servers:
    """Decode the response to /listlookup; real servers send ports as strings.

    ``asked`` is the request, for error messages.

    Raises:
        Unusable: the answer is invalid; the message says where.
    """
    data = read_payload(answer, asked)
    if "lookupdnodes" not in data:
        raise asked.unusable(f"expected lookupdnodes, found {_names(data)}")
    listed = enumerate(_list_or_null(data, "lookupdnodes", asked))
    servers = tuple(_server(each, f"lookupdnodes/{at}", asked) for at, each in listed)
    master = data.get("lookupdleader")
    has_master = isinstance(master, dict) and bool(master.get("NodeIP"))
    return Servers(_server(master, "lookupdleader", asked) if has_master else None, servers)


def _nodes(listed: list[JsonValue], asked: LookupRequest) -> tuple[Node, ...]:
    return tuple(_node(each, f"producers/{at}", asked) for at, each in enumerate(listed))


def _node(value: JsonValue, where: str, asked: LookupRequest) -> Node:
    record = _record(value, where, asked)
    host = record.get("broadcast_address")
    if not isinstance(host, str) or not is_host(host):
        raise asked.wrong(f"{where}/broadcast_address", expected="a host", found=host)
    http = record.get("http_port")
    version = record.get("version")
    return Node(
        address=(host, _port(record.get("tcp_port"), f"{where}/tcp_port", asked)),
        http_address=(host, _port(http, f"{where}/http_port", asked)) if http else None,
        version=version if isinstance(version, str) else "",
    )


def _leader(number: str, value: JsonValue, asked: LookupRequest) -> Leader:
    node = _node(value, f"partitions/{number}", asked)
    return Leader(int(number), node.address, node.http_address)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


def _server(value: JsonValue, where: str, asked: LookupRequest) -> Address:
    record = _record(value, where, asked)
    host, port = record.get("NodeIP"), record.get("HttpPort")
    if not isinstance(host, str) or not is_host(host):
        raise asked.wrong(f"{where}/NodeIP", expected="a host", found=host)
    if isinstance(port, str) and _is_number(port):
        port = int(port)
    return host, _port(port, f"{where}/HttpPort", asked)


def _port(value: JsonValue, where: str, asked: LookupRequest) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value not in PORTS:
        raise asked.wrong(where, expected="a port, a number from 1 to 65535", found=value)
    return value


def _record(value: JsonValue, where: str, asked: LookupRequest) -> dict[str, JsonValue]:
    if not isinstance(value, dict):
        raise asked.wrong(where, expected="a JSON object", found=value)
    return value


def _object_or_null(
    data: Mapping[str, JsonValue], name: str, asked: LookupRequest
) -> dict[str, JsonValue]:
    return _of_kind(data.get(name), dict[str, JsonValue], name, asked, expected="a JSON object")


def _list_or_null(
    data: Mapping[str, JsonValue], name: str, asked: LookupRequest
) -> list[JsonValue]:
    return _of_kind(data.get(name), list[JsonValue], name, asked, expected="a list")


def _of_kind(
    value: JsonValue, kind: Callable[[], T], name: str, asked: LookupRequest, *, expected: str
) -> T:
    """Return a JSON value of the given type; return an empty one for null."""
    empty = kind()
    if value is None:
        return empty
    if not isinstance(value, type(empty)):
        raise asked.wrong(name, expected=expected, found=value)
    return value


def _names(data: Mapping[str, JsonValue]) -> str:
    names = ", ".join(printable(name) for name in sorted(data))
    return short(names) or "an empty object"
