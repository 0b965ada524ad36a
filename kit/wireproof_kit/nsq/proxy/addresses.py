"""Addresses in the answers of lookup servers, old and new, in either envelope."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from wireproof_kit.nsq.clients.decoder import LOOKUPD, NSQD, NSQD_HTTP
from wireproof_kit.proxy.fronts import FrontFor
from wireproof_kit.wire.address import Address, format_address
from wireproof_spec.strict_json import JsonValue, fields_of

LISTING = frozenset({"/lookup", "/nodes", "/listlookup"})
"""The HTTP paths whose responses contain addresses that clients connect to."""

ANY_HOST = ("0.0.0.0", "::")
"""The proxy listens at every address, of which clients know that by which they came."""
Record = dict[str, JsonValue]


@dataclass(slots=True)
class Rewritten:
    """A response body with addresses of the proxy, and notes on addresses left unchanged."""

    body: bytes
    notes: list[str] = field(default_factory=list[str])


def rewrite_addresses(body: bytes, host: str, front_for: FrontFor) -> Rewritten | None:
    """Return a response body in which the proxy's addresses replace those of nodes and lookups.

    Return None if there is nothing to replace. ``host`` is the address at which clients reach the
    proxy if it listens at all of them; ``front_for`` returns the proxy's address for a service.
    """
    try:
        value: JsonValue = json.loads(body)
        json.dumps(value)  # deeper than this encoder goes: rather left than lost
    except (ValueError, RecursionError):
        return None
    notes: list[str] = []
    place = _Place(host, front_for, notes)
    count = sum(place.move(record) for record in _records(value))
    if not count:
        return None
    notes.insert(0, f"{count} addresses in the answer lead to the proxy now")
    return Rewritten(json.dumps(value, separators=(",", ":")).encode(), notes)


def _records(value: JsonValue) -> Iterator[Record]:
    """Yield the objects that name a node or a lookup server."""
    data = fields_of(value)
    if isinstance(data.get("data"), dict):
        yield from _records(data["data"])
        return
    partitions = data.get("partitions")
    groups: list[Iterable[JsonValue]] = []
    groups.append(partitions.values() if isinstance(partitions, dict) else ())
    for name in ("producers", "lookupdnodes"):
        listed = data.get(name)
        groups.append(listed if isinstance(listed, list) else ())
    groups.append([data.get("lookupdleader")])
    for group in groups:
        yield from (each for each in group if isinstance(each, dict))


@dataclass(frozen=True, slots=True)
class _Place:
    host: str
    front_for: FrontFor
    notes: list[str]

    def move(self, record: Record) -> bool:
        """Replace the addresses in a record; return True if there were any."""
        if isinstance(record.get("NodeIP"), str):
            return self._move(record, "NodeIP", {"HttpPort": LOOKUPD}, str)
        if not isinstance(record.get("broadcast_address"), str):
            return False
        return self._move(
            record, "broadcast_address", {"tcp_port": NSQD, "http_port": NSQD_HTTP}, int
        )

    def _move(
        self, record: Record, name: str, ports: dict[str, str], form: Callable[[int], JsonValue]
    ) -> bool:
        host = str(record[name])
        fronts = {key: self._front(kind, host, record.get(key)) for key, kind in ports.items()}
        main = next(iter(fronts.values()))
        if main is None:
            return False
        record[name] = self.host if main[0] in ANY_HOST else main[0]
        for key, front in fronts.items():
            if front is not None:
                record[key] = form(front[1])
        return True

    def _front(self, kind: str, host: str, port: JsonValue) -> Address | None:
        if isinstance(port, str) and port.isascii() and port.isdigit():
            port = int(port)
        if isinstance(port, bool) or not isinstance(port, int) or not 0 < port < 1 << 16:
            return None
        front = self.front_for(kind, (host, port))
        if front is None:
            where = format_address((host, port))
            self.notes.append(f"{where} is left in the answer: the proxy stands before too many")
        return front
