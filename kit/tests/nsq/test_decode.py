import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.resources import as_file
from pathlib import Path
from typing import cast

import click
import pytest
from decode_command import Decode, Fields, queue_file, record
from registration import Registration, forget

from wireproof.commands.protocol_decode import Decoder, Source
from wireproof_kit.decoding.decoded import Decoded, TitledFormatter
from wireproof_spec.decoding import encode
from wireproof_spec.nsq import golden
from wireproof_spec.nsq.disk import DISK_RECORD, DiskRecord
from wireproof_spec.nsq.message import Extend, Message
from wireproof_spec.protocol import Group, Protocol

pytestmark = pytest.mark.long

OK_FRAME = "00000006000000004f4b"
MEGABYTE = 1 << 20


@pytest.fixture(scope="session")
def data_directory() -> Iterator[Path]:
    """Yield the queue directories recorded from a real broker, and their manifest."""
    with as_file(golden.folder() / "nsqd-disk") as path:
        yield path


@pytest.fixture
def decode(capsys: pytest.CaptureFixture[str]) -> Decode:
    return Decode(capsys)


def manifest(data_directory: Path) -> dict[str, list[dict[str, Fields]]]:
    text = (data_directory / "manifest.json").read_text("utf-8")
    topics = cast(dict[str, dict[str, list[dict[str, Fields]]]], json.loads(text)["topics"])
    return {name: topic["messages"] for name, topic in topics.items()}


def as_in_manifest(fields: Fields) -> Fields:
    """Return decoded fields under the manifest's names."""
    header = fields["ext_hex"]
    attempts = cast(int, fields["indicator"]) << 12 | cast(int, fields["attempts"])
    return {
        "topic": fields["topic"],
        "partition": fields["partition"],
        "header": bytes.fromhex(str(header)).decode() if header else None,
        "body_hex": fields["body_hex"],
        "trace_id": int(str(fields["trace_id"])),
        "on_disk": {
            "virtual_offset": fields["queue_offset"],
            "raw_size": fields["raw_size"],
            "timestamp_ns": int(str(fields["timestamp_ns"])),
            "attempts_field": f"{attempts:#06x}",
            "internal_id": int(str(fields["internal_id"])),
            "ext_version": fields["ext_version"],
        },
    }


def test_a_real_brokers_data_directory_decodes_to_its_manifest(
    decode: Decode, data_directory: Path
) -> None:
    due = [
        {name: message[name] for name in as_in_manifest_names(message)}
        for _, messages in sorted(manifest(data_directory).items())
        for message in messages
    ]

    found = decode.objects(data_directory)

    assert [as_in_manifest(fields) for fields in found] == due
    assert {fields["file"] for fields in found} == {
        f"{topic}/{topic}-0.diskqueue.000000.dat" for topic in manifest(data_directory)
    }
    assert decode.error == ""


def as_in_manifest_names(message: Fields | dict[str, Fields]) -> list[str]:
    return [name for name in message if name not in {"command", "response", "published"}]


@pytest.mark.parametrize("topic", ["gdd_plain", "gdd_ext", "gdd_upgraded"])
def test_one_topics_directory_decodes_alone(
    decode: Decode, data_directory: Path, topic: str
) -> None:
    found = decode.objects(data_directory / topic)

    assert [fields["body_hex"] for fields in found] == [
        message["body_hex"] for message in manifest(data_directory)[topic]
    ]
    assert {fields["topic"] for fields in found} == {topic}
    assert found[0]["file"] == f"{topic}-0.diskqueue.000000.dat"


def test_headers_are_parsed_and_ids_are_strings(decode: Decode, data_directory: Path) -> None:
    found = decode.objects(data_directory / "gdd_ext")

    assert found[2]["ext"] == {
        "##client_dispatch_tag": "tagA",
        "##trace_id": "987654321",
        "custom_header1": "h1",
    }
    assert (found[2]["internal_id"], found[2]["trace_id"]) == ("4", "987654321")
    assert [fields["ext"] for fields in (found[0], found[6], found[9])] == [
        None,
        None,
        ["not an object"],
    ]


def test_the_dump_shows_offset_bytes_and_meaning(decode: Decode, data_directory: Path) -> None:
    out = decode(data_directory / "gdd_ext")

    lines = out.splitlines()
    assert lines[:18] == [
        "gdd_ext-0.diskqueue.000000.dat   topic gdd_ext   partition 0   offset 0",
        "",
        "message   offset 0   40 bytes   internal_id 2   trace_id 0",
        "         0  00 00 00 24                 length = 36",
        "         4  18 e9 fc 98 c8 6a f6 b1     timestamp_ns = 1795243659611535025",
        "                                        2026-11-21T06:47:39.611535Z",
        "        12  a0 00                       attempts = 0, indicator 0xa",
        "        14  00 00 00 00 00 00 00 02     internal_id = 2",
        "        22  00 00 00 00 00 00 00 00     trace_id = 0",
        "        30  00                          extend.version = 0 (none)",
        '        31  6e 6f 20 68 65 61 64 65     body = "no header"',
        "        39  72",
        "",
        "message   offset 40   53 bytes   internal_id 3   trace_id 0",
        "        40  00 00 00 31                 length = 49",
        "        44  18 e9 fc 98 c8 74 2f 06     timestamp_ns = 1795243659612139270",
        "                                        2026-11-21T06:47:39.612139Z",
        "        52  a0 00                       attempts = 0, indicator 0xa",
    ]
    assert '        73  7b 22 6b 22 3a 22 76 22     extend.data = {"k":"v"}' in lines
    assert lines[-2] == "end of topic gdd_ext   partition 0   11 messages up to offset 1040"
    assert max(map(len, lines)) <= 80


def test_quiet_shows_titles_only(decode: Decode, data_directory: Path) -> None:
    out = decode("-q", data_directory / "gdd_plain")

    assert out.splitlines()[2:4] == [
        "message   offset 0   35 bytes   internal_id 2   trace_id 0",
        "message   offset 35   36 bytes   internal_id 3   trace_id 123456789",
    ]


def test_verbose_leaves_no_byte_out(decode: Decode, tmp_path: Path) -> None:
    path = queue_file(tmp_path / "orders", record(bytes(1000)))

    assert "968 bytes left out" not in decode("-v", path)
    assert "… 976 bytes left out" in decode(path)


def test_a_plain_topic_must_have_no_extended_record(decode: Decode, data_directory: Path) -> None:
    found = decode.objects("--topic-kind", "plain", data_directory / "gdd_upgraded", code=2)

    assert len(found) == 2
    assert decode.error == (
        "wireproof: gdd_upgraded-0.diskqueue.000000.dat: message.attempts at byte 104: "
        "expected 0 to 4095, found 40960 (ext.disk.plain-record)\n"
    )
    assert len(decode.objects("--topic-kind", "ext", data_directory / "gdd_upgraded")) == 5


def test_hex_may_be_written_in_any_way(decode: Decode) -> None:
    due = decode(OK_FRAME)

    assert due.splitlines() == [
        'response   "OK"',
        "         0  00 00 00 06                 size = 6",
        "         4  00 00 00 00                 frame_type = 0 (response)",
        '         8  4f 4b                       data = "OK"',
        "",
    ]
    assert decode("00000006", "0000 0000", "4F:4B") == due
    assert decode("0x00000006, 0x00000000, 0x4f, 0x4b") == due


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nothing.bin"], "'nothing.bin' is no file, no directory and no hex digits"),
        (["4f4"], "the argument: an odd number of hex digits (3): half a byte is missing"),
        ([""], "the input is empty: there is nothing to decode"),
        (["7f"], "cannot tell what the input is by its first bytes (7f)"),
        (["4745542f20485454502f312e310d0a"], "cannot tell what the input is"),
        ([], "missing argument"),
        (["--side", "left", OK_FRAME], "invalid value for '--side'"),
    ],
)
def test_bad_input_gets_one_sentence(decode: Decode, words: list[str], sentence: str) -> None:
    out = decode(*words, code=2)

    assert out == ""
    assert decode.error.startswith(f"wireproof: {sentence}")
    assert decode.error.count("\n") == 1


def test_an_empty_file_and_a_directory_without_a_queue_are_named(
    decode: Decode, tmp_path: Path
) -> None:
    empty = tmp_path / "empty.bin"
    empty.touch()

    decode(empty, code=2)
    assert decode.error == f"wireproof: {empty} is empty: there is nothing to decode\n"

    decode(tmp_path, code=2)
    assert decode.error == (
        f"wireproof: {tmp_path} holds no queue: "
        "no file is named <topic>-<partition>.diskqueue.<number>.dat\n"
    )


def test_two_files_at_once_are_refused(decode: Decode, tmp_path: Path) -> None:
    path = queue_file(tmp_path / "orders", record(b"x"))

    decode(path, path, code=2)

    assert decode.error.startswith("wireproof: one file or directory at a time: ")


def test_a_queue_file_may_have_any_name_when_its_side_is_told(
    decode: Decode, tmp_path: Path
) -> None:
    path = tmp_path / "copy.bin"
    path.write_bytes(record(b"x", header=b"{}"))

    (told,) = decode.objects("--side", "disk", path)
    (found,) = decode.objects(path)

    assert told == found
    assert (told["topic"], told["file"], told["ext"]) == (None, None, {})


def test_the_length_of_an_empty_extend_part_may_be_published_or_deployed(decode: Decode) -> None:
    message = Message(10**18, 0, 1, 0, Extend(0, None), None, None, b"\0\0x")
    stored = encode(DISK_RECORD, DiskRecord(message, 0xA)).hex()

    (deployed,) = decode.objects(stored)
    (published,) = decode.objects("--ext-layout", "published", stored)

    assert (deployed["body_hex"], published["body_hex"]) == ("000078", "78")


@pytest.mark.process
def test_standard_input_is_read_to_its_end() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "wireproof", "decode", "--json", "-"],
        input=bytes.fromhex(OK_FRAME) * 3 + b"\0\0",
        capture_output=True,
        check=False,
    )

    assert ran.returncode == 2
    assert [json.loads(line)["offset"] for line in ran.stdout.splitlines()] == [0, 10, 20]
    assert ran.stderr.decode() == (
        "wireproof: the input: size at byte 30: expected 4 bytes, found 2"
        " (smart.connection.frame)\n"
    )


@pytest.mark.process
def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    queue_file(tmp_path / "orders", *[record(bytes(100))] * 5000)
    command = [sys.executable, "-m", "wireproof", "decode", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        first = process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read()
        process.wait()

    assert first.startswith(b"orders/orders-0.diskqueue.000000.dat")
    assert said == b""


@pytest.mark.process
def test_a_terminal_that_knows_only_ascii_gets_escapes(data_directory: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "wireproof", "decode", str(data_directory / "gdd_ext")],
        env={"PYTHONIOENCODING": "ascii", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        check=False,
    )

    assert (ran.returncode, ran.stderr) == (0, b"")
    assert rb'{"utf8":"\xe9\u4e2d"}' in ran.stdout


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (160 << 20, 160 << 20))
from wireproof.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="address space is limited on Linux only")
@pytest.mark.parametrize("how", [["--json"], ["-q"]])
@pytest.mark.parametrize("shape", ["directory", "pipe"])
def test_a_queue_of_any_size_takes_little_memory(
    tmp_path: Path, how: list[str], shape: str
) -> None:
    stored = record(bytes(MEGABYTE // 32 - 30))
    path = queue_file(tmp_path / "orders", *[stored] * 32)
    for number in range(1, 64):
        shutil.copy(path, path.with_name(f"orders-0.diskqueue.{number:06d}.dat"))
    source = str(tmp_path) if shape == "directory" else "-"
    pieces = b"" if shape == "directory" else path.read_bytes() * 64
    ran = subprocess.run(
        [sys.executable, "-c", LIMITED, "decode", *how, source],
        input=pieces,
        capture_output=True,
        check=False,
    )

    assert (ran.returncode, ran.stderr) == (0, b"")
    messages = [line for line in ran.stdout.splitlines() if b"message" in line[:20]]
    assert len(messages) == 32 * 64


@pytest.mark.process
def test_a_lying_length_takes_no_memory(tmp_path: Path) -> None:
    lying = (0x7FFFFFFF).to_bytes(4, "big") + bytes(100)
    ran = subprocess.run(
        [sys.executable, "-c", LIMITED, "decode", "--side", "disk", "-"],
        input=lying,
        capture_output=True,
        check=False,
    )

    assert ran.returncode == 2
    assert b"length at byte 0: expected at most 67108864, found 2147483647" in ran.stderr


def test_a_second_protocol_brings_its_own_decoder(
    decode: Decode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Options, examples and meaning are those of the protocol that is named."""
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    own = Registration(monkeypatch)
    own.add(Group.PROTOCOLS, "tick", f"{__name__}:TICK")
    own.add(Group.DECODERS, "tick", f"{__name__}:ticks")

    assert decode("--protocol", "tick", "0102", "--as", "tock").startswith("tock   2 bytes")
    assert decode("0102", "--as", "tock", "--protocol=tick").startswith("tock   2 bytes")
    assert "wireproof decode ff" in decode("--help", "--protocol", "tick")
    decode("0102", "--side", "disk", "--protocol", "tick", code=2)
    assert "no such option '--side'" in decode.error
    forget()


TICK = Protocol("tick", "tick")


def ticks() -> Decoder:
    def decoded(source: Source, name: str) -> Iterator[Decoded]:
        data = cast(bytes, source)
        yield Decoded(name, 0, data, None, TitledFormatter(f"{len(data)} bytes", tuple, tuple))

    return Decoder(decoded, [click.Option(["--as", "name"])], [("wireproof decode ff", "a tick")])
