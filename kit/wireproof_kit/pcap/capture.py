"""Captures of exchanges: synthetic TCP in pcapng, a comment on every packet."""

import ipaddress
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import cast

from scapy.data import DLT_EN10MB
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from scapy.utils import EDecimal, PcapNgWriter

from wireproof_kit.pcap.exchange import (
    SEGMENT,
    Address,
    Exchange,
    Segment,
    exchange_of,
    kit_ports,
    segments,
)
from wireproof_spec.private_file import make_private
from wireproof_spec.record import CaseRecord, HeaderRecord

KIT_MAC, TARGET_MAC = "02:00:00:00:00:01", "02:00:00:00:00:02"
"""Locally administered addresses, which belong to no hardware; every reader accepts Ethernet."""
LONGEST = 1000
"""Characters of a packet's comment; a pcapng file allows 65535 bytes."""
WINDOW = 65535
SCALE = 10
"""TCP window scale in bits, so large that no recorded exchange fills the window."""


def write_capture(path: Path, exchanges: Iterable[Exchange]) -> int:
    """Write the recorded steps of cases into one capture file; return the number of packets.

    Raises:
        OSError: the file cannot be written.
    """
    ports = kit_ports()
    file = CaptureFile(path)
    try:
        for exchange in exchanges:
            file.add(segments(exchange, ports))
    finally:
        file.close()
    return file.count


class CaptureFile:
    """A capture file that is being written; ``count`` is the number of packets in it.

    Raises:
        OSError: the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.count = 0
        self._writer = PcapNgWriter(str(make_private(path)))
        self._writer.linktype = DLT_EN10MB
        self._writer.write_header(None)

    def add(self, added: Iterable[Segment]) -> None:
        """Append TCP segments to the capture as packets."""
        for segment in added:
            self.count += 1
            seconds = (
                EDecimal(max(segment.at_us, 0)) / 1_000_000
            )  # a capture knows none before 1970
            # A float, as scapy declares it, would drift by a microsecond.
            self._writer.write_packet(packet(segment, number=self.count), sec=cast(float, seconds))

    def close(self) -> None:
        """Close the file."""
        self._writer.close()


def capture_of(header: HeaderRecord, case: CaseRecord) -> bytes | None:
    """Return the pcapng bytes of one case in a bundle; None when it sent and received nothing."""
    exchange = exchange_of(header, case)
    if exchange is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "case.pcapng"  # the writer takes nothing but names of files
        write_capture(path, [exchange])
        return path.read_bytes()


def packet(segment: Segment, *, number: int = 1) -> Packet:
    """Return a TCP segment as a scapy packet with all headers and the segment's comments."""
    tcp = TCP(
        sport=segment.source[1],
        dport=segment.to[1],
        flags=segment.flags,
        seq=segment.seq,
        ack=segment.ack,
        window=WINDOW,
        options=[("MSS", SEGMENT), ("WScale", SCALE)] if "S" in segment.flags else [],
    )
    if segment.data:
        tcp.add_payload(Raw(segment.data))
    network = _network(segment.source, segment.to, number)
    network.add_payload(tcp)
    source, to = (KIT_MAC, TARGET_MAC) if segment.by_kit else (TARGET_MAC, KIT_MAC)
    made = Ether(src=source, dst=to)
    made.add_payload(network)  # the operator / would copy all below, time and again
    made.explicit = network.explicit = tcp.explicit = 1  # one value in each field
    made.comments = [_comment(text) for text in segment.comments]
    return made


def _comment(text: str) -> bytes:
    shown = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    return shown.encode("utf-8", "backslashreplace")


def _network(source: Address, to: Address, number: int) -> Packet:
    if ipaddress.ip_address(source[0]).version == 4:
        return IP(src=source[0], dst=to[0], id=number & 0xFFFF, flags="DF")
    from scapy.layers.inet6 import IPv6

    return IPv6(src=source[0], dst=to[0])
