"""Capture files: read back by scapy, and by tshark where it is installed."""

import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.packet import Packet
from scapy.utils import PcapNgReader

from wireproof_kit import pcap
from wireproof_kit.errors import UsageFault
from wireproof_kit.pcap.exchange import SEGMENT, Exchange
from wireproof_spec.step_record import StepRecord, pack_bytes

TSHARK = shutil.which("tshark")
BODY = bytes(range(256)) * 200


def step(at: int, kind: str, data: bytes = b"", note: str = "") -> StepRecord:
    return StepRecord(at, "A", kind, length=len(data), note=note, **pack_bytes(data))


def exchange(host: str = "127.0.0.1:4150") -> Exchange:
    steps = (
        step(10, "open", note=host),
        step(20, "send", b"  V2", "magic"),
        step(30, "send", b"PUB t 0\n" + len(BODY).to_bytes(4, "big") + BODY, "PUB"),
        step(1_000_040, "receive", bytes.fromhex("00000006000000004f4b")),
        step(1_000_050, "close", note="by the kit"),
    )
    return Exchange("nsq/publish/x", steps, about="A title", started_us=1_700_000_000_000_000)


def http() -> Exchange:
    request = b"POST /pub?topic=t HTTP/1.1\r\nHost: 127.0.0.1:4151\r\nContent-Length: 1\r\n\r\nx"
    response = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK"
    steps = (step(0, "request", request, "POST /pub"), step(7, "response", response, "200"))
    return Exchange("nsq/http/x", steps)


def written(path: Path, *exchanges: Exchange) -> list[Packet]:
    pcap.write(path, exchanges)
    with PcapNgReader(str(path)) as reader:
        return list(reader)


def test_bytes_times_and_comments_come_back(tmp_path: Path) -> None:
    found = written(tmp_path / "a.pcapng", exchange(), http())

    streams: defaultdict[tuple[int, int], bytes] = defaultdict(bytes)
    for each in found:
        streams[each[TCP].sport, each[TCP].dport] += bytes(each[TCP].payload)
    sent = b"".join(s.data() for s in exchange().steps if s.kind == "send")
    assert streams[40000, 4150] == sent
    assert streams[4150, 40000] == bytes.fromhex("00000006000000004f4b")
    assert streams[40001, 4151].endswith(b"\r\n\r\nx")
    assert streams[4151, 40001].endswith(b"\r\n\r\nOK")

    assert all(each.comments for each in found)
    assert found[0].comments == [b"A title", b"nsq/publish/x, step 1: A opens, 127.0.0.1:4150"]
    assert int(found[0].time * 1_000_000) == 1_700_000_000_000_010
    assert len(bytes(found[4][TCP].payload)) == SEGMENT


def test_checksums_are_right(tmp_path: Path) -> None:
    for each in written(tmp_path / "a.pcapng", exchange(), http()):
        again = each.copy()
        del again[IP].chksum
        del again[TCP].chksum
        assert bytes(again) == bytes(each)


def test_the_other_family(tmp_path: Path) -> None:
    found = written(tmp_path / "a.pcapng", exchange("[2001:db8::9]:4150"))

    assert found[0][IPv6].dst == "2001:db8::9"


def test_a_comment_that_is_too_long_is_cut(tmp_path: Path) -> None:
    steps = (step(0, "open", note="h:1"), step(1, "note", note="x" * 70_000))
    found = written(tmp_path / "a.pcapng", Exchange("nsq/x", steps))

    assert max(len(text) for each in found for text in each.comments or []) < 1100


def test_without_the_extra_it_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pcap, "is_installed", lambda: False)

    with pytest.raises(UsageFault, match=r"pip install 'scapy"):
        pcap.write(tmp_path / "a.pcapng", [exchange()])
    assert not list(tmp_path.iterdir())


@pytest.mark.process
def test_wireshark_finds_nothing_to_complain_of(tmp_path: Path) -> None:
    if TSHARK is None:
        pytest.skip("tshark is not installed: captures were not shown to Wireshark")
    pcap.write(tmp_path / "a.pcapng", [exchange(), http()])
    said = subprocess.run(
        [TSHARK, "-r", "a.pcapng", "-q", "-z", "expert,warn"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )

    assert "Errors" not in said.stdout
    assert "Warns" not in said.stdout
    assert "HTTP" in shown(tmp_path / "a.pcapng")


def shown(path: Path) -> str:
    assert TSHARK is not None
    return subprocess.run(
        [TSHARK, "-r", str(path)], capture_output=True, text=True, check=True
    ).stdout
