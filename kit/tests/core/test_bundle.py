"""Bundles: written whole, read whole, refused in one sentence otherwise."""

import contextlib
import gzip
import resource
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from small_law import header, record

from wireproof_kit.bundle.file import BundleWriter, read_bundle
from wireproof_kit.errors import KitError, UsageFault
from wireproof_spec.record import FooterRecord, TargetRecord
from wireproof_spec.step_record import StepRecord, TranscriptRecord, pack_bytes

FOOTER = FooterRecord({"pass": 1}, (), {"clauses": 1}, 0, "s")


def write(path: Path, *, close: bool = True) -> None:
    writer = BundleWriter(path, header())
    long = bytes(range(256)) * 40
    steps = (
        StepRecord(1, "A", "send", length=3, hex="00ff10", parts=((0, 2, "size", True),)),
        StepRecord(2, "A", "receive", length=len(long), **pack_bytes(long)),
    )
    writer.add(record("ok,open", transcript=TranscriptRecord(steps)))
    if close:
        writer.close(FOOTER)
    else:
        writer.abandon()


def test_a_bundle_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    write(tmp_path / "run.jsonl")
    bundle = read_bundle(tmp_path / "run.jsonl")
    (case,) = bundle.cases
    assert bundle.header == header()
    assert case.transcript.steps[0].data() == b"\x00\xff\x10"
    assert case.transcript.steps[1].data() == bytes(range(256)) * 40
    assert bundle.footer is not None
    assert bundle.footer.statement == "s"


def test_a_compressed_bundle_is_read_like_a_plain_one(tmp_path: Path) -> None:
    write(tmp_path / "run.jsonl")
    whole = gzip.compress((tmp_path / "run.jsonl").read_bytes())
    (tmp_path / "run.jsonl.gz").write_bytes(whole)

    plain, compressed = (read_bundle(tmp_path / name) for name in ("run.jsonl", "run.jsonl.gz"))
    assert (compressed.header, compressed.cases) == (plain.header, plain.cases)
    assert compressed.footer == plain.footer


@pytest.mark.parametrize("damage", ["cut", "changed", "head-alone"])
def test_a_damaged_compressed_bundle_is_one_sentence(tmp_path: Path, damage: str) -> None:
    write(tmp_path / "run.jsonl")
    whole = gzip.compress((tmp_path / "run.jsonl").read_bytes())
    middle = len(whole) // 2
    data = {
        "cut": whole[:middle],
        "changed": whole[:middle] + bytes([whole[middle] ^ 0xFF] * 8) + whole[middle + 8 :],
        "head-alone": whole[:2],
    }[damage]
    (tmp_path / "run.jsonl.gz").write_bytes(data)

    with pytest.raises(UsageFault) as caught:
        read_bundle(tmp_path / "run.jsonl.gz")
    assert str(caught.value).startswith(str(tmp_path / "run.jsonl.gz"))
    assert "\n" not in str(caught.value)


def test_half_a_surrogate_pair_from_a_broker_is_kept_escaped(tmp_path: Path) -> None:
    told = TargetRecord("nsq://127.0.0.1:1", "nsq", {"version\udfff": "1.\ud800"})
    writer = BundleWriter(tmp_path / "run.jsonl", msgspec.structs.replace(header(), target=told))
    writer.add(record("error:\udc80,open"))
    writer.close(FOOTER)

    bundle = read_bundle(tmp_path / "run.jsonl")

    assert bundle.header.target.fingerprint == {"version\\udfff": "1.\\ud800"}
    assert bundle.cases[0].observation == "error:\\udc80,open"


def test_a_run_that_was_cut_off_leaves_a_usable_bundle(tmp_path: Path) -> None:
    write(tmp_path / "run.jsonl", close=False)
    bundle = read_bundle(tmp_path / "run.jsonl")
    assert len(bundle.cases) == 1
    assert bundle.footer is None


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "found none"),
        (b"{}\n", "line 1"),
        (b'{"kind":"case"}\n', "line 1"),
        (b"\xff\xfe\n", "line 1"),
        (b"not json\n", "line 1"),
    ],
)
def test_what_is_no_bundle_is_refused_with_its_place(
    tmp_path: Path, content: bytes, words: str
) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(content)
    with pytest.raises(UsageFault, match=words):
        read_bundle(path)


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageFault, match="cannot be read"):
        read_bundle(tmp_path / "none")


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "run.jsonl", close=False)
    text = (tmp_path / "run.jsonl").read_text().replace('"format":1', '"format":2')
    (tmp_path / "run.jsonl").write_text(text)
    with pytest.raises(UsageFault, match="newer"):
        read_bundle(tmp_path / "run.jsonl")


def test_a_changed_line_breaks_the_seal(tmp_path: Path) -> None:
    write(tmp_path / "run.jsonl")
    text = (tmp_path / "run.jsonl").read_text().replace("ok,open", "ok,shut")
    (tmp_path / "run.jsonl").write_text(text)
    with pytest.raises(UsageFault, match="changed after the run"):
        read_bundle(tmp_path / "run.jsonl")


def test_a_second_writer_of_one_file_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    first = BundleWriter(path, header())
    with pytest.raises(UsageFault, match="another run is writing this file; name another"):
        BundleWriter(path, header())
    first.add(record("ok,open"))
    first.close(FOOTER)

    assert len(read_bundle(path).cases) == 1
    write(path)  # once it is closed, it may be written again
    assert len(read_bundle(path).cases) == 1


@pytest.mark.parametrize("whole", [0, 1, 2])
def test_a_full_disk_leaves_the_whole_records(tmp_path: Path, whole: int) -> None:
    path = tmp_path / "run.jsonl"
    write(path)
    lines = path.read_bytes().splitlines(keepends=True)
    room = sum(map(len, lines[:whole])) + len(lines[whole]) // 2
    path.unlink()

    with files_of_at_most(room), pytest.raises(KitError) as caught:
        write(path)

    sentence = str(caught.value)
    assert sentence.startswith(f"--bundle {path}: cannot be written (File too large)")
    assert path.exists() == bool(whole)
    if whole:
        bundle = read_bundle(path)
        assert f"ends after {whole} whole records" in sentence
        assert (len(bundle.cases), bundle.footer) == (whole - 1, None)


def test_a_writer_that_has_failed_says_the_same_again(tmp_path: Path) -> None:
    writer = BundleWriter(tmp_path / "run.jsonl", header())
    with files_of_at_most(1), pytest.raises(KitError) as first:
        writer.add(record("ok,open"))
    with pytest.raises(KitError) as second:
        writer.close(FOOTER)
    assert str(second.value) == str(first.value)


@contextlib.contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Let no file of this process grow larger: a full disk, as a writer sees it."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
