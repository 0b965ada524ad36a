from pathlib import Path

import pytest
from decode_command import Decode, queue_file, record

from wireproof_reference_impl.nsq.storage.disk_queue import DiskQueue


@pytest.fixture
def decode(capsys: pytest.CaptureFixture[str]) -> Decode:
    return Decode(capsys)


def test_partitions_and_files_come_in_order_with_running_offsets(
    decode: Decode, tmp_path: Path
) -> None:
    orders = tmp_path / "orders"
    for partition in (10, 2):
        queue_file(orders, record(b"b", 2), partition=partition, number=1)
        queue_file(orders, record(b"aa", 1), record(b"a", 3), partition=partition, number=0)
    queue_file(tmp_path / "bills", record(b"other"))

    found = decode.objects(tmp_path)

    places = [
        (each["topic"], each["partition"], each["queue_offset"], each["offset"]) for each in found
    ]
    assert places == [
        ("bills", 0, 0, 0),
        ("orders", 2, 0, 0),
        ("orders", 2, 32, 32),
        ("orders", 2, 63, 0),
        ("orders", 10, 0, 0),
        ("orders", 10, 32, 32),
        ("orders", 10, 63, 0),
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("orders-0.diskqueue.000007.dat.offsetmeta.dat", "9\n500,531\n"),
        ("orders-0.diskqueue.000006.dat.offsetmeta.dat", "8\n400,500\n"),
        (
            "orders-0.diskqueue.meta.extra.dat",
            '{"SegOffset":{"FileNum":7,"Pos":0},"VirtualOffset":500,"TotalMsgCnt":8}',
        ),
    ],
)
@pytest.mark.parametrize("as_file", [True, False])
def test_a_queue_without_its_first_files_keeps_its_offsets(
    decode: Decode, tmp_path: Path, name: str, text: str, *, as_file: bool
) -> None:
    path = queue_file(tmp_path / "orders", record(b"x"), number=7)
    path.with_name(name).write_text(text)

    found = decode.objects(path if as_file else path.parent)

    assert [each["queue_offset"] for each in found] == [500]
    assert decode.error == ""


def test_an_unknown_beginning_is_said_and_counted_from_zero(
    decode: Decode, tmp_path: Path
) -> None:
    path = queue_file(tmp_path / "orders", record(b"x"), number=7)

    found = decode.objects(path)

    assert found[0]["queue_offset"] == 0
    assert (
        decode.error == f"note: nothing tells at which offset {path.name} begins; counted from 0\n"
    )


def test_what_was_noted_of_a_file_is_compared_with_it(decode: Decode, tmp_path: Path) -> None:
    path = queue_file(tmp_path / "orders", record(b"x"))
    meta = path.with_name(f"{path.name}.offsetmeta.dat")

    meta.write_text("2\n0,40\n")
    decode(path.parent)
    assert decode.error.splitlines() == [
        f"note: {path.name} is noted as offsets 0 to 40, it has 0 to 31",
        f"note: {path.name} is noted with 2 messages up to its end, there are 1",
    ]

    meta.write_text("?")
    decode(path.parent)
    assert decode.error.startswith(f"note: the offset meta of {path.name} cannot be read: ")


def test_a_missing_file_ends_the_queue(decode: Decode, tmp_path: Path) -> None:
    queue_file(tmp_path / "orders", record(b"first"))
    queue_file(tmp_path / "orders", record(b"third"), number=2)

    found = decode.objects(tmp_path, code=2)

    assert [each["body_hex"] for each in found] == [b"first".hex()]
    assert decode.error == (
        "wireproof: topic orders, partition 0: file at byte 35: "
        "expected orders-0.diskqueue.000001.dat, found orders-0.diskqueue.000002.dat "
        "(ext.disk.layout)\n"
    )


def test_everything_before_a_fault_is_shown(decode: Decode, tmp_path: Path) -> None:
    path = queue_file(tmp_path / "orders", record(b"whole"), record(b"cut off")[:-3])
    sentence = (
        f"wireproof: {path.name}: length at byte 35: "
        "expected 33 bytes after it, found 30 (ext.disk.layout)\n"
    )

    assert [each["body_hex"] for each in decode.objects(path, code=2)] == [b"whole".hex()]
    assert decode.error == sentence

    out = decode(path, code=2)
    assert decode.error == sentence
    assert "message   offset 0   35 bytes" in out
    assert out.splitlines()[-9:-1] == [
        "        35  00 00 00 21                 length: expected 33 bytes after it,",
        "                                        found 30",
        "        39  18 e9 fc 98 c8 b3 70 b1     timestamp_ns = 1795243659616284849",
        "                                        2026-11-21T06:47:39.616284Z",
        "        47  00 00                       attempts = 0",
        "        49  00 00 00 00 00 00 00 01     internal_id = 1",
        "        57  00 00 00 00 00 00 00 00     trace_id = 0",
        '        65  63 75 74 20                 body = "cut "',
    ]


def test_a_record_too_short_for_a_message_is_a_fault(decode: Decode, tmp_path: Path) -> None:
    path = queue_file(tmp_path / "orders", record(b"whole"), (25).to_bytes(4, "big"), bytes(25))

    decode(path, code=2)

    assert "length at byte 35: expected at least 26, found 25" in decode.error


def test_a_header_that_is_no_json_is_shown_as_it_is(decode: Decode, tmp_path: Path) -> None:
    path = queue_file(
        tmp_path / "orders",
        record(b"x", header=b"{"),
        record(b"x", header=b'{"a":1,"a":18446744073709551616.50}'),
        record(b"x", header=b"null"),
    )

    found = decode.objects(path)

    assert [each["ext"] for each in found][::2] == [None, None]
    assert found[0]["ext_hex"] == "7b"
    assert "no JSON" in str(found[0]["ext_faults"])
    assert found[1]["ext_faults"] == ["duplicate-name at /a"]
    assert "ext_faults" not in found[2]
    assert '"ext":{"a":18446744073709551616.50}' in decode("--json", path)


def test_the_references_own_queue_decodes_to_what_was_appended(
    decode: Decode, tmp_path: Path
) -> None:
    records = [record(b"x" * (7 * number), number, header=b"{}") for number in range(20)]
    queue = DiskQueue.open(tmp_path / "orders", "orders", 3, max_bytes_per_file=300)
    offsets = [queue.append(each) for each in records]
    queue.close()

    found = decode.objects(tmp_path)

    assert [each["queue_offset"] for each in found] == offsets
    assert [each["raw_size"] for each in found] == list(map(len, records))
    assert [each["internal_id"] for each in found] == list(map(str, range(20)))
    assert len({each["file"] for each in found}) > 3
    assert decode.error == ""
