"""Turns the bytes of a case into the TCP segments that could have carried them.

The kit records writes and reads, not packets: how the bytes are divided and when each part is
acknowledged is made up. This module does not need scapy.
"""

import ipaddress
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from wireproof_spec.record import CaseRecord, HeaderRecord
from wireproof_spec.step_notes import IN_TLS
from wireproof_spec.step_record import StepRecord

Address: TypeAlias = tuple[str, int]

SEGMENT = 16384
"""The most bytes of one segment, as captures on loopback and with segmentation offload show."""
FIRST_PORT = 40000
PORTS = 20000
PORT_DIGITS = 5
KIT, TARGET = True, False
_ELSEWHERE = {4: ("192.0.2.1", "192.0.2.2"), 6: ("2001:db8::1", "2001:db8::2")}
"""Documentation addresses by IP version: the kit's if its own is unknown, an unknown target's."""
_SENT = ("send", "request")
_RECEIVED = ("receive", "response")


@dataclass(frozen=True, slots=True)
class Exchange:
    """The recorded steps of one case; ``started_us`` counts microseconds since 1970.

    `address` is the target's, HOST:PORT, for steps that name none.
    """

    name: str
    steps: Sequence[StepRecord]
    address: str = ""
    about: str = ""
    started_us: int = 0


@dataclass(frozen=True, slots=True)
class Segment:
    """One TCP segment of a capture; `flags` are letters as in scapy and tcpdump, such as ``PA``.

    `by_kit` is True if the kit sent it; `at_us` counts microseconds since 1970.
    """

    at_us: int
    by_kit: bool
    source: Address
    to: Address
    flags: str
    seq: int
    ack: int
    data: bytes
    comments: tuple[str, ...]


@dataclass(slots=True)
class _Link:
    """One connection: the bytes sent by each side, and the directions already closed."""

    kit: Address
    target: Address
    next_seq: dict[bool, int] = field(default_factory=lambda: {KIT: 1000, TARGET: 2000})
    ended: set[bool] = field(default_factory=set[bool])
    is_http: bool = False
    is_tls: bool = False

    def segment(
        self, side: bool, flags: str, at_us: int, comments: tuple[str, ...], data: bytes = b""
    ) -> Segment:
        """Return the next segment of a side; SYN and FIN consume one sequence number."""
        seq = self.next_seq[side]
        self.next_seq[side] += len(data) + ("S" in flags or "F" in flags)
        ack = self.next_seq[not side] if "A" in flags else 0
        source, to = (self.kit, self.target) if side else (self.target, self.kit)
        return Segment(at_us, side, source, to, flags, seq, ack, data, comments)


def exchange_of(header: HeaderRecord, case: CaseRecord) -> Exchange | None:
    """Return the recorded steps of a case; None when it sent and received nothing."""
    steps = case.transcript.steps
    if not any(step.kind in ("open", *_SENT, *_RECEIVED) for step in steps):
        return None
    about = f"{case.title} {case.clause} ({case.level}): {case.verdict}, {case.observation}"
    address = header.target.parts().netloc.rpartition("@")[2]
    return Exchange(case.case, steps, address, about, _microseconds(header.started))


def segments(exchange: Exchange, ports: Iterator[int] | None = None) -> Iterator[Segment]:
    """Yield the segments of an exchange in order; ``ports`` yields unused local ports."""
    writer = Segmenter(exchange, ports or kit_ports())
    for step in exchange.steps:
        yield from writer.take(step)
    yield from writer.end_all()


def kit_ports() -> Iterator[int]:
    """Return made-up ports of the kit's side, one for each connection written to a capture."""
    return (FIRST_PORT + number % PORTS for number in itertools.count())


def address(text: str) -> Address:
    """Return IP address and port of HOST:PORT; for a host name, a reserved documentation address.

    The port is 0 if the text has no valid one.
    """
    host, _, port = text.rpartition(":")
    is_port = port.isascii() and port.isdigit() and len(port) <= PORT_DIGITS
    number = int(port) if is_port and int(port) < 1 << 16 else 0
    host = "127.0.0.1" if host == "localhost" else host.strip("[]")
    try:
        return str(ipaddress.ip_address(host)), number
    except ValueError:
        return _ELSEWHERE[4][1], number


class Segmenter:
    """Turns the steps given to `take` into TCP segments, with the addresses of an exchange."""

    def __init__(self, exchange: Exchange, ports: Iterator[int]) -> None:
        self._exchange = exchange
        self._ports = ports
        self._links: dict[str, _Link] = {}
        self._said = [exchange.about] if exchange.about else []
        self._at_us = exchange.started_us
        self._number = 0

    def take(self, step: StepRecord) -> Iterator[Segment]:
        """Yield the TCP segments that represent the next step."""
        self._number += 1
        self._at_us = max(self._at_us, self._exchange.started_us + step.at_us)
        yield from self._step(step, f"{self._exchange.name}, step {self._number}")

    def end(self, name: str, why: str) -> Iterator[Segment]:
        """Yield the TCP segments that end the named connection; ``why`` becomes a comment."""
        link = self._links.pop(name, None)
        if link is not None:
            yield from self._end(link, f"{self._exchange.name}, {name}: {why}")

    def end_all(self) -> Iterator[Segment]:
        """Yield the TCP segments that end all open connections."""
        for name in tuple(self._links):
            yield from self.end(name, "still open when the record ends")

    def _step(self, step: StepRecord, where: str) -> Iterator[Segment]:
        said = f"{where}: {_words(step)}"
        if step.kind == "open":
            yield from self._open(step, address(step.note), said)
        elif step.kind in (*_SENT, *_RECEIVED):
            yield from self._carry(step, where, said)
        elif step.kind == "close" and step.conn in self._links:
            yield from self._close(self._links[step.conn], step.note, said)
        elif step.kind in ("note", "close"):
            self._said.append(said)
            if step.note.startswith(IN_TLS) and step.conn in self._links:
                self._links[step.conn].is_tls = True

    def _open(self, step: StepRecord, target: Address, said: str) -> Iterator[Segment]:
        if step.conn in self._links:
            yield from self._end(self._links[step.conn], f"{said} (again)")
        port = next(port for port in self._ports if port != target[1])
        kit = _kit_host(target[0]), port
        link = self._links[step.conn] = _Link(kit, target, is_http=step.kind == "request")
        yield self._segment(link, KIT, "S", said)
        yield self._segment(link, TARGET, "SA", said)
        yield self._segment(link, KIT, "A", said)

    def _carry(self, step: StepRecord, where: str, said: str) -> Iterator[Segment]:
        data = _data(step)
        if step.kind == "request" or step.conn not in self._links:
            yield from self._open(step, self._target(data), f"{where}: {step.conn} opens")
        link = self._links[step.conn]
        side = step.kind in _SENT
        if link.is_tls:
            said += " (in TLS on the wire, in the clear here)"
        if side in link.ended:
            self._said.append(f"{said} (after the end of that direction: not in this capture)")
            return
        yield from self._pieces(link, side, data, said)
        if link.is_http and step.kind == "response":
            yield from self._end(link, f"{where}: end of the response", first=TARGET)

    def _pieces(self, link: _Link, side: bool, data: bytes, said: str) -> Iterator[Segment]:
        count = max(1, -(-len(data) // SEGMENT)) if data else 0
        for index in range(count):
            piece = data[index * SEGMENT : (index + 1) * SEGMENT]
            which = f" (segment {index + 1} of {count})" if count > 1 else ""
            flags = "PA" if index == count - 1 else "A"
            yield self._segment(link, side, flags, said + which, piece)  # acknowledged by the next

    def _close(self, link: _Link, note: str, said: str) -> Iterator[Segment]:
        if note.startswith("by the target (reset"):
            if link.ended != {KIT, TARGET}:
                yield self._segment(link, TARGET, "RA", said)
            link.ended = {KIT, TARGET}
        elif note.startswith("by the target"):
            yield from self._finish(link, TARGET, said)
        elif "sending direction" in note:
            yield from self._finish(link, KIT, said)
        else:
            yield from self._end(link, said)

    def _end(self, link: _Link, said: str, *, first: bool = KIT) -> Iterator[Segment]:
        yield from self._finish(link, first, said)
        yield from self._finish(link, not first, said)

    def _finish(self, link: _Link, side: bool, said: str) -> Iterator[Segment]:
        if side in link.ended:
            return
        link.ended.add(side)
        yield self._segment(link, side, "FA", said)
        yield self._segment(link, not side, "A", said)

    def _segment(
        self, link: _Link, side: bool, flags: str, said: str, data: bytes = b""
    ) -> Segment:
        comments = (*self._said, said)
        self._said = []
        return link.segment(side, flags, self._at_us, comments, data)

    def _target(self, request: bytes) -> Address:
        """Return the host that an HTTP request names, or else the target of the exchange."""
        for line in request.partition(b"\r\n\r\n")[0].split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if name.strip().lower() == b"host":
                return address(value.decode("latin-1").strip())
        return address(self._exchange.address)


def _microseconds(started: str) -> int:
    """Return a run's start in microseconds since 1970; cases record only relative times."""
    try:
        return int(datetime.fromisoformat(started).timestamp()) * 1_000_000
    except ValueError:
        return 0


def _kit_host(target: str) -> str:
    host = ipaddress.ip_address(target)
    return target if host.is_loopback else _ELSEWHERE[host.version][0]


def _data(step: StepRecord) -> bytes:
    """Return the bytes of a step; none when the record is damaged."""
    try:
        return step.data()
    except ValueError:
        return b""


def _words(step: StepRecord) -> str:
    verbs = dict.fromkeys(_SENT, "sends") | dict.fromkeys(_RECEIVED, "gets")
    verbs |= {"open": "opens", "close": "closed", "note": "notes"}
    size = f" {step.length} bytes" if step.length else ""
    note = f", {step.note}" if step.note else ""
    return f"{step.conn} {verbs.get(step.kind, step.kind)}{size}{note}"
