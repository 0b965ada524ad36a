"""``decode`` of hex digits, dumps, escapes and captures in a file or on stdin."""

import io
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest
from decode_command import Decode, record
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from scapy.packet import Padding, Raw
from scapy.utils import PcapNgWriter, PcapWriter

from wireproof.commands import decode_source
from wireproof_kit import pcap
from wireproof_kit.pcap.sides import Side
from wireproof_spec.decoding import encode
from wireproof_spec.nsq.disk import DISK_RECORD, DiskRecord
from wireproof_spec.nsq.message import Extend, Message

OK_FRAME = "00000006000000004f4b"
DUMP = "00000000: 0000 0006 0000 0000 4f4b                 ......OK\n"
ESCAPES = r"\x00\x00\x00\x06\x00\x00\x00\x00OK"
CLIENT, SERVER = ("10.0.0.1", 40000), ("10.0.0.2", 4150)


@pytest.fixture
def decode(capsys: pytest.CaptureFixture[str]) -> Decode:
    return Decode(capsys)


def given_on_stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.mark.parametrize("text", [OK_FRAME, OK_FRAME + "\n", DUMP, ESCAPES], ids=str.strip)
def test_a_text_that_holds_bytes_is_read_as_them(
    decode: Decode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    due = decode(OK_FRAME)
    path = tmp_path / "in.txt"
    path.write_text(text)
    given_on_stdin(monkeypatch, text.encode())

    assert decode(path) == due
    assert decode.error.startswith(f"note: {path} is read as ")
    assert decode("-") == due
    assert decode.error.startswith("note: the input is read as ")
    decode("--raw", path, code=2)
    assert "cannot tell what" in decode.error


def test_escapes_may_be_an_argument(decode: Decode) -> None:
    assert decode(ESCAPES) == decode(OK_FRAME)


def test_an_option_is_named_that_decodes_the_layout_of_another_generation(
    decode: Decode, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = Message(10**18, 0, 1, 0, Extend(0, None), None, None, b"x")
    stored = record(b"first", header=b"{}") + encode(DISK_RECORD, DiskRecord(message, 0xA))
    published = ("--ext-layout", "published")

    shown = decode(*published, stored.hex(), code=2)

    assert "first" in shown
    assert decode.error.endswith("; --ext-layout deployed decodes this\n")
    given_on_stdin(monkeypatch, stored)
    decode(*published, "-", code=2)
    assert decode.error.endswith("; --ext-layout deployed decodes this\n")
    decode(*published, stored[:-1].hex(), code=2)
    assert "decodes this" not in decode.error


def test_an_unknown_version_of_a_header_is_named_with_the_known_ones(decode: Decode) -> None:
    unknown = record(b"second", header=b"{}").replace(b"\x04\0\x02{}", b"\x09\0\x02{}")

    lines = decode(unknown.hex()).splitlines()

    at = next(number for number, line in enumerate(lines) if "extend.version" in line)
    assert lines[at].endswith("extend.version = 9 (unknown, expected")
    assert lines[at + 1].strip() == "0, 2, 4)"


def segment(ends: tuple[Any, Any], number: int, data: bytes, flags: str = "PA") -> Any:
    (source, sport), (target, dport) = ends
    head = Ether() / IP(src=source, dst=target)
    packet = head / TCP(sport=sport, dport=dport, seq=number % (1 << 32), flags=flags)
    return packet / Raw(data) if data else packet


def capture(path: Path, packets: list[Any]) -> Path:
    make = PcapNgWriter if path.suffix == ".pcapng" else PcapWriter
    with make(str(path)) as file:
        for packet in packets:
            file.write(packet)
    return path


def conversation(answer: bytes) -> list[Any]:
    """Return packets of a connection: out of order, sent again, with filling, numbers wrapped."""
    there, back, first = (CLIENT, SERVER), (SERVER, CLIENT), (1 << 32) - 3
    return [
        segment(there, first, b"", "S"),
        segment(back, 99, b"", "SA"),
        segment(there, first + 5, b"NOP\n"),
        segment(there, first + 1, b"  V2"),
        segment(there, first + 1, b"  V2"),
        segment(back, 100, answer[:4]) / Padding(b"\0" * 6),
        segment(back, 104, answer[4:]),
    ]


@pytest.mark.parametrize("ending", ["pcapng", "pcap"])
def test_each_side_of_a_capture_is_decoded(
    decode: Decode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    path = capture(tmp_path / f"all.{ending}", conversation(bytes.fromhex(OK_FRAME)))

    shown = decode("-q", path)

    lines = [line for line in shown.splitlines() if line]
    assert lines == [
        "10.0.0.1:40000 -> 10.0.0.2:4150",
        "magic   version 2",
        "command   NOP",
        "10.0.0.2:4150 -> 10.0.0.1:40000",
        'response   "OK"',
    ]
    given_on_stdin(monkeypatch, path.read_bytes())
    assert decode("-q", "-") == shown
    (*_, answer) = decode.objects(path)
    assert (answer["stream"], answer["text"]) == ("10.0.0.2:4150 -> 10.0.0.1:40000", "OK")


def test_a_side_that_cannot_be_decoded_hides_no_other(decode: Decode, tmp_path: Path) -> None:
    back, other = (SERVER, CLIENT), (CLIENT, ("10.0.0.3", 4151))
    packets = [
        segment((CLIENT, SERVER), 1, b"PUB t\n\0\0\0\1aPUX t\n"),
        segment(other, 1, b"GET /info HTTP/1.1\r\n\r\n"),
        segment(back, 1, bytes.fromhex(OK_FRAME)),
        segment(back, 99, b"later"),
    ]

    shown = decode(capture(tmp_path / "all.pcapng", packets), code=2)

    assert "message   PUB t" in shown
    assert 'response   "OK"' in shown
    notes = decode.error.splitlines()
    assert any("HTTP, which is not decoded" in note for note in notes)
    assert any("bytes after byte 10 are not in the capture" in note for note in notes)
    assert notes[-1].startswith("wireproof: 10.0.0.1:40000 -> 10.0.0.2:4150: the input: name at")
    assert "expected a command" in notes[-1]


def test_without_scapy_a_capture_is_refused_with_what_to_do(
    decode: Decode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = capture(tmp_path / "all.pcapng", conversation(bytes.fromhex(OK_FRAME)))
    monkeypatch.setattr(pcap, "is_installed", lambda: False)

    assert decode(path, code=2) == ""

    assert "captures need scapy" in decode.error
    assert "tshark -r " in decode.error
    assert decode.error.count("\n") == 1


def test_a_broken_capture_is_one_sentence(decode: Decode, tmp_path: Path) -> None:
    path = tmp_path / "all.pcapng"
    path.write_bytes(b"\x0a\x0d\x0d\x0a" + b"\xff" * 30)

    decode(path, code=2)

    assert decode.error.startswith(f"wireproof: {path}: ")
    assert decode.error.count("\n") == 1


@pytest.mark.parametrize("head", [b"4f4b" * 100_000, b"\xa1\xb2\xc3\xd4" + b"\0" * 300_000])
def test_a_text_or_a_capture_without_end_is_refused(
    head: bytes, decode: Decode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decode_source, "MOST_BYTES", 1 << 16)
    given_on_stdin(monkeypatch, head)

    decode("-", code=2)

    assert "expected at most 0 MiB of text or of a capture; found more" in decode.error


class Unsearched(dict[int, bytes]):
    """Cannot be looked through: a hundred thousand segments that wait took minutes."""

    def __iter__(self) -> NoReturn:
        raise AssertionError("all segments are looked through for the next one")


def test_segments_that_wait_for_one_that_is_lost_are_not_searched() -> None:
    side = Side("a -> b", 0, _early=Unsearched())
    for number in (3, 2, 1, 3, 0):
        side.add(number * 2, b"xy")

    assert side.data == b"xyxyxyxy"
    assert not side.lost
