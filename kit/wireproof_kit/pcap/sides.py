"""Reads what each side of each TCP connection sent from a capture file, pcap or pcapng."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from scapy.error import Scapy_Exception
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.packet import Packet, Padding
from scapy.utils import PcapReader

from wireproof_kit.errors import UsageFault
from wireproof_kit.wire.address import format_address

WRAP = 1 << 32
"""Sequence numbers of TCP are counted modulo this."""


@dataclass(slots=True)
class Side:
    """What one side of a TCP connection sent; ``name`` has both addresses.

    ``lost`` is True if bytes after ``data`` are not in the capture.
    """

    name: str
    first: int
    data: bytearray = field(default_factory=bytearray)
    lost: bool = False
    _early: dict[int, bytes] = field(default_factory=dict[int, bytes])
    _order: list[int] = field(default_factory=list[int])
    """A heap of where the early segments begin."""

    def add(self, number: int, data: bytes) -> None:
        """Add a segment by its sequence number; it may come twice or too early."""
        at = (number - self.first) % WRAP
        if at < WRAP // 2:
            if at not in self._early:
                heapq.heappush(self._order, at)
            self._early[at] = max(self._early.get(at, b""), data, key=len)
        while self._order and self._order[0] <= len(self.data):
            ready = heapq.heappop(self._order)
            segment = self._early.pop(ready)
            self.data += segment[len(self.data) - ready :]
        self.lost = bool(self._early)


def read_sides(file: BinaryIO, name: str) -> list[Side]:
    """Return the sides of all connections in a capture that sent something, in order.

    Raises:
        UsageFault: the file is no capture, or ends within a packet.
    """
    sides: dict[tuple[str, str], Side] = {}
    found: list[Side] = []
    try:
        with PcapReader(file) as packets:  # type: ignore[arg-type]  # takes an open file, too
            for packet in packets:
                _take(packet, sides, found)
    except (Scapy_Exception, EOFError, OSError) as error:
        raise UsageFault(f"{name}: the capture cannot be read ({error})") from error
    return [side for side in found if side.data or side.lost]


def _take(packet: Packet, sides: dict[tuple[str, str], Side], found: list[Side]) -> None:
    for source, target, segment in _segments(packet):
        key = (source, target)
        begins = "S" in str(segment.flags)
        first = (segment.seq + begins) % WRAP
        side = sides.get(key)
        if side is None or (begins and side.first != first):
            side = sides[key] = Side(f"{source} -> {target}", first)
            found.append(side)
        if data := _payload(segment):
            side.add(first, data)


def _segments(packet: Packet) -> Iterator[tuple[str, str, TCP]]:
    if TCP in packet and (IP in packet or IPv6 in packet):
        host, segment = packet[IP if IP in packet else IPv6], packet[TCP]
        source = format_address((str(host.src), int(segment.sport)))
        yield source, format_address((str(host.dst), int(segment.dport))), segment


def _payload(segment: TCP) -> bytes:
    """Return the bytes of a segment, without those that fill up a short Ethernet frame."""
    data = bytes(segment.payload)
    filling = len(segment[Padding].load) if Padding in segment else 0
    return data[: len(data) - filling]
