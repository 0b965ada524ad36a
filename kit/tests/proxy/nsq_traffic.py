"""Traffic between a client and a node of NSQ, and what the checks of the proxy find in it."""

import json
from collections.abc import Iterable, Mapping
from typing import Literal

from wireproof_kit.clients.events import Disconnected, Event
from wireproof_kit.nsq.proxy.node_state import Known
from wireproof_kit.nsq.proxy.part import (
    CLAUSES,
    OPENING,
    OPENING_LOOKUP,
    OPENING_NAMED,
    OPENING_ORDERED,
    OPENING_PARTITION,
    NsqWatcher,
)
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.decoding import encode
from wireproof_spec.nsq.frame import message_frame, response_frame
from wireproof_spec.nsq.message import Extend, Message, message_schema
from wireproof_spec.nsq.trace_response import TRACE_RESPONSE, TraceResponse
from wireproof_spec.strict_json import JsonValue

OK = response_frame(b"OK")
BEAT = response_frame(b"_heartbeat_")
GRANTED = {"max_rdy_count": 100, "msg_timeout": 1000, "tls_v1": False, "snappy": False}
NO_FIELDS: Mapping[str, JsonValue] = {}
TAGGED: dict[str, JsonValue] = {"extend_support": True, "desired_tag": "A"}
ORDERED = b"SUB_ORDERED o c 0\n"
EXT: dict[str, JsonValue] = {"extend_support": True}
ORDERED_TOPIC = "o"


class Traffic:
    """A connection to a node, and what its bytes show; time stands still unless it is moved."""

    def __init__(self, known: Known | None = None, conn: str = "nsqd1.1") -> None:
        self.conn = conn
        self.watcher = NsqWatcher(conn, known if known is not None else Known())
        self.events: list[Event] = []
        self.at = 0.0
        self.shown: dict[str, list[str]] = {}
        """What each clause's violations were; empty texts where it held."""

    def client(self, *data: bytes) -> "Traffic":
        return self._pass(b"".join(data), by_client=True)

    def broker(self, *data: bytes) -> "Traffic":
        return self._pass(b"".join(data), by_client=False)

    def _pass(self, data: bytes, *, by_client: bool) -> "Traffic":
        for event in self.watcher.decode(self.at, data, by_client=by_client):
            self._see(event)
        return self

    def close(self, by: Literal["client", "broker"] = "client") -> "Traffic":
        self._see(Disconnected(self.at, self.conn, by))
        return self

    def _see(self, event: Event) -> None:
        self.events.append(event)
        for each in self.watcher.see(event):
            self.shown.setdefault(each.clause, []).append(each.note if each.value else "")

    def later(self, seconds: float) -> "Traffic":
        """Let time pass before what comes next."""
        self.at += seconds
        return self

    def deviating(self) -> set[str]:
        return {clause for clause, found in self.shown.items() if any(found)}

    def conforming(self) -> set[str]:
        return set(self.shown) - self.deviating()


def sized(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


def identified(fields: Mapping[str, JsonValue] = NO_FIELDS, known: Known | None = None) -> Traffic:
    """Return a connection that has been identified; topic "o" is known as ordered."""
    told = {"client_id": "c", "feature_negotiation": True, "heartbeat_interval": 1000}
    body = json.dumps({**told, **fields}).encode()
    traffic = Traffic(known or Known([ORDERED_TOPIC])).client(b"  V2IDENTIFY\n", sized(body))
    return traffic.broker(response_frame(json.dumps(GRANTED).encode()))


def subscribed(
    command: bytes = b"SUB t c 0\n", ready: int = 1, fields: Mapping[str, JsonValue] = NO_FIELDS
) -> Traffic:
    return identified(fields).client(command).broker(OK).client(b"RDY %d\n" % ready)


def message(
    number: int,
    *,
    trace: int = 0,
    attempts: int = 1,
    extend: Extend | None = None,
    place: tuple[int, int] | None = None,
    offset_first: bool = False,
) -> bytes:
    offset, size = place or (None, None)
    value = Message(1, attempts, number, trace, extend, offset, size, b"body")
    schema = message_schema(
        extend=extend is not None, ordered=place is not None, offset_first=offset_first
    )
    return message_frame(encode(schema, value))


def tagged(tag: str) -> bytes:
    return message(1, extend=header({"##client_dispatch_tag": tag}))


def look_up(query: str, method: str = "GET") -> Traffic:
    """Return a connection to a lookup server with one lookup."""
    head = f"{method} /lookup?{query} HTTP/1.1\r\nHost: l\r\n\r\n"
    return Traffic(conn="lookupd1.1").client(head.encode())


def in_order(*places: tuple[int, int]) -> Traffic:
    """Return a connection with messages in order, by id and offset, each finished."""
    traffic = subscribed(ORDERED)
    for number, offset in places:
        traffic.broker(message(number, place=(offset, 40))).client(finish(number))
    return traffic


def finish(number: int, trace: int = 0) -> bytes:
    return b"FIN " + number.to_bytes(8, "big") + trace.to_bytes(8, "big") + b"\n"


def requeue(number: int) -> bytes:
    return b"REQ " + number.to_bytes(8, "big") + bytes(8) + b" 0\n"


def header(value: JsonValue) -> Extend:
    return Extend(4, json.dumps(value).encode())


def pub_ext(value: object) -> bytes:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return b"PUB_EXT t 0\n" + sized(len(data).to_bytes(2, "big") + data + b"body")


def pub_trace(trace: int, topic: bytes = b"t") -> bytes:
    return b"PUB_TRACE " + topic + b" 0\n" + sized(trace.to_bytes(8, "big") + b"body")


def traced(internal: int, trace: int, offset: int = 0, size: int = 40) -> bytes:
    return response_frame(encode(TRACE_RESPONSE, TraceResponse(internal, trace, offset, size)))


PUB = b"PUB t 0\n" + sized(b"body")
Row = tuple[Traffic, str, bool]
"""Traffic, the clause it is about, and whether the clause holds."""


def check_row(row: Row) -> None:
    """The traffic shows what it says of its clause, and violates no other."""
    traffic, clause, holds = row
    assert clause in (traffic.conforming() if holds else traffic.deviating())
    assert traffic.deviating() == (set() if holds else {clause})


def check_each_clause_has_rows(rows: Iterable[Row], role: str) -> None:
    """Each clause that binds the role has traffic of both kinds, unless other tests show it."""
    rows = tuple(rows)
    others = {clause for clause in CLAUSES if role_of(clause) == role}
    others -= {*opening_clauses(), "smart.order.position"}
    assert {clause for _, clause, holds in rows if holds} == others
    assert {clause for _, clause, holds in rows if not holds} == others


def role_of(clause_id: str) -> str:
    clause = load_catalogue("nsq").clause(clause_id)
    assert clause is not None
    return clause.role


def opening_clauses() -> set[str]:
    """Return the clauses that the beginning of each connection shows."""
    cases = (*OPENING, *OPENING_NAMED, *OPENING_PARTITION, *OPENING_ORDERED, *OPENING_LOOKUP)
    laws = [load_catalogue("nsq").find_law(case) for case in cases]
    return {found[0].id for found in laws if found is not None}
