"""Where a topic lives: what lookup servers answer, read from JSON and merged."""

import json
from collections.abc import Iterable, Mapping

from msgspec import Struct

from wireproof_reference_impl.nsq.client.core.effects import Address
from wireproof_spec.nsq.names import EXTEND_SUPPORT
from wireproof_spec.strict_json import is_object, items_of, members_of

_PORTS = range(1, 1 << 16)


class Place(Struct, frozen=True, order=True):
    """A partition and the address of the node that leads it; a connection serves one place.

    An original nsqd has no partitions; then `partition` is None.
    """

    partition: int | None
    address: Address


class Topology(Struct, frozen=True):
    """The leaders of a topic's partitions, as one lookup server or all of them know them.

    `originals` are nodes of an answer in the shape of the original nsqlookupd.
    """

    leaders: Mapping[int, Address] = {}
    originals: tuple[Address, ...] = ()
    partition_num: int = 0
    extend_support: bool = False
    ordered: bool = False

    @property
    def places(self) -> tuple[Place, ...]:
        """All partitions with their leaders, in order of the partitions."""
        led = tuple(Place(number, self.leaders[number]) for number in sorted(self.leaders))
        return led or tuple(Place(None, address) for address in self.originals)

    @property
    def is_complete(self) -> bool:
        """True if every partition has a leader."""
        return len(self.leaders) >= self.partition_num


class BadAnswer(Exception):
    """Raised for an answer of a lookup server that cannot be used."""


def read_lookup(body: bytes) -> Topology:
    """Return the topology in an answer to /lookup, of either shape, with or without envelope.

    Nodes that cannot be read are left out: one bad record must not hide all others.

    Raises:
        BadAnswer: the body is no JSON object.
    """
    fields = read_object(body)
    partitions, meta = members_of(fields.get("partitions")), members_of(fields.get("meta"))
    leaders = {
        int(number): address
        for number, node in partitions.items()
        if number.isdecimal() and (address := _address(node)) is not None
    }
    originals: list[Address] = []
    if "partitions" not in fields:
        originals = [
            each for node in items_of(fields.get("producers")) if (each := _address(node))
        ]
    return Topology(
        leaders=leaders,
        originals=tuple(dict.fromkeys(originals)),
        partition_num=_number(meta.get("partition_num")),
        extend_support=meta.get(EXTEND_SUPPORT) is True,
        ordered=meta.get("ordered") is True,
    )


def read_listlookup(body: bytes) -> tuple[str, ...]:
    """Return the HTTP addresses, HOST:PORT, in an answer to /listlookup.

    Raises:
        BadAnswer: the body is no JSON object.
    """
    nodes = map(members_of, items_of(read_object(body).get("lookupdnodes")))
    addresses = [(node.get("NodeIP"), node.get("HttpPort")) for node in nodes]
    return tuple(
        f"{host}:{port}" for host, port in addresses if _is_named(host) and _is_named(port)
    )


def read_object(body: bytes) -> dict[str, object]:
    """Return the members of a lookup answer, without the envelope that some answers have.

    Raises:
        BadAnswer: the body is no JSON object.
    """
    try:
        value: object = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadAnswer(f"no JSON: {error}") from None
    if not is_object(value):
        raise BadAnswer("no JSON object")
    # By the answer and not by what was asked for: a server may not know the v1 form.
    return members_of(value["data"]) if "status_code" in value and "data" in value else value


def merge(answers: Iterable[Topology]) -> Topology:
    """Return one topology from the answers of several lookup servers; later ones count more."""
    merged = Topology()
    for answer in answers:
        merged = Topology(
            leaders={**merged.leaders, **answer.leaders},
            originals=tuple(dict.fromkeys([*merged.originals, *answer.originals])),
            partition_num=max(merged.partition_num, answer.partition_num),
            extend_support=merged.extend_support or answer.extend_support,
            ordered=merged.ordered or answer.ordered,
        )
    return merged


def _address(node: object) -> Address | None:
    """Return where a node listens: what it calls itself, not from where it registered."""
    fields = members_of(node)
    host, port = fields.get("broadcast_address"), fields.get("tcp_port")
    if _is_named(host) and isinstance(port, int) and port in _PORTS:
        return str(host), port
    return None


def _is_named(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _number(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0
