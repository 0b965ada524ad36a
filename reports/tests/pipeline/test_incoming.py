"""Bundles read whole or not at all, bad lines put aside, rows handed over as workers do."""

import gzip
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import bundle_fixture as made
import msgspec
import pyarrow as pa
import pytest
from history_fixture import bundle, with_lines
from incoming_fixture import Collected, Read, files, of_view

from wireproof_reports.pipeline import rows
from wireproof_reports.pipeline.bundles.incoming import NO_NAMING, TargetNaming
from wireproof_reports.pipeline.bundles.worker import glance, make_reader
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.fuzz_record import CampaignRecord, FindingRecord, FuzzCaseRecord, SentRecord
from wireproof_spec.record import DifferenceRecord

BIG = (2**64 - 1, 2**128 - 1)


def test_every_case_of_a_bundle_is_a_row(tmp_path: Path) -> None:
    path = made.write_bundle(tmp_path / "b.jsonl")
    records = [json.loads(line) for line in path.read_text().splitlines()[1:-1]]

    read = Read(path)

    found = {row["case"]: row for row in read.tables["results"]}
    assert len(records) == len(found)
    assert read.bundles == [hashlib.sha256(path.read_bytes()).hexdigest()]
    for record in records:
        row = found[record["case"]]
        for name in ("case_hash", "clause", "level", "verdict", "observation", "reason"):
            assert row[name] == record[name]
        assert row["duration_us"] == record["duration_us"]
        assert row["accepted"] == record["accepted"]
        assert row["signature"] == (record["signature"] or "")
        assert row["runs"] == record["repeats"]["runs"]
        assert (row["protocol"], str(row["day"])) == ("nsq", "2026-11-21")
        clause = load_catalogue("nsq").clause(str(record["clause"]))
        assert row["role"] == (clause.role if clause else "")
    assert {row["role"] for row in found.values()} >= {"broker", "lookup"}


def test_the_origin_that_a_record_tells_is_a_column(tmp_path: Path) -> None:
    record = msgspec.structs.replace(next(made.passes()), origin="premise")

    (row,) = Read(bundle(tmp_path / "b.jsonl", [record])).tables["results"]

    assert row["origin"] == "premise"


def test_the_run_itself_is_a_row(tmp_path: Path) -> None:
    (run,) = Read(bundle(tmp_path / "b.jsonl", seed=BIG[1])).tables["runs"]

    assert run["seed"] == str(BIG[1])
    assert (run["vendor"], run["version"]) == ("nsqd", "1.2.0")
    assert (run["file"], run["cases"], run["quarantined"]) == ("b.jsonl", 3, 0)


@pytest.mark.parametrize(
    ("told", "stored", "unused"),
    [
        ("", ("Acme", "2.1"), ()),
        ("1.3.0", ("Acme", "1.3.0"), ("version",)),
        ("0.3.7-HA.1.13.0", ("youzan nsqd", "0.3.7-HA.1.13.0"), ("vendor", "version")),
    ],
    ids=["nothing", "version", "both"],
)
def test_the_users_names_are_for_targets_that_tell_none(
    tmp_path: Path, told: str, stored: tuple[str, str], unused: tuple[str, ...]
) -> None:
    """An operator of a fleet names its landing folder, and no maker that is known is renamed."""
    path = bundle(tmp_path / "b.jsonl", version=told)

    read = Read(path, naming=TargetNaming("Acme", "2.1"))

    for table in ("runs", "results", "grammar"):
        assert {(row["vendor"], row["version"]) for row in read.tables[table]} == {stored}
    assert read.outcomes[str(path)].unused == unused


@pytest.mark.parametrize("number", BIG)
def test_wire_integers_stay_exact_text(tmp_path: Path, number: int) -> None:
    difference = DifferenceRecord("trace_id", 9, str(number), str(number - 1))
    record = made.failed(
        "trace/id/largest",
        "ext.trace.response",
        "The largest id comes back.",
        f"trace:{number}",
        ["trace"],
        difference=difference,
    )

    (row,) = Read(bundle(tmp_path / "b.jsonl", [record])).tables["results"]

    assert row["observation"] == f"trace:{number}"
    assert (row["difference_expected"], row["difference_found"]) == (str(number), str(number - 1))


def test_a_bundle_has_one_hash_whatever_its_name_and_packing(tmp_path: Path) -> None:
    path = bundle(tmp_path / "b.jsonl")
    packed = tmp_path / "c.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))

    read = Read(path, packed)

    assert read.bundles == [hashlib.sha256(path.read_bytes()).hexdigest()] * 2


def test_content_may_come_with_the_row(tmp_path: Path) -> None:
    data = gzip.compress(bundle(tmp_path / "b.jsonl").read_bytes())
    row = {"path": "s3a://bucket/b.jsonl.gz", "length": len(data), "content": data}
    batches = [pa.RecordBatch.from_pylist([row])]

    (seen,) = next(glance(iter(batches))).to_pylist()
    expected = {str(seen["path"]): str(seen["bundle"])}
    reader = make_reader(NO_NAMING, expected, Collected(), strict=False)
    found = pa.Table.from_batches(reader(iter(batches))).to_pylist()

    assert seen["bundle"] == hashlib.sha256(gzip.decompress(data)).hexdigest()
    (run,) = of_view(found, "runs")
    assert run["file"] == "b.jsonl.gz"


def test_a_run_that_tells_no_start_has_no_day(tmp_path: Path) -> None:
    days = ["2026-11-21T23:59:59+00:00", "2026-11-22T00:30:00+01:00", "2026-11-23T09:00:00", ""]
    days.append("0001-01-01T00:00:00+14:00")  # before UTC's first year
    paths = [bundle(tmp_path / f"{i}.jsonl", started=day) for i, day in enumerate(days)]

    found = [str(row["day"]) for row in Read(*paths).tables["runs"]]

    assert found == ["2026-11-21", "2026-11-21", "2026-11-23", "None", "None"]


GOOD = msgspec.json.encode(next(made.passes()))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"kind":"case"', "truncated"),
        (b"not json", "malformed"),
        (GOOD.replace(b'"verdict":"pass"', b'"verdict":"perhaps"'), "perhaps"),
        (GOOD.replace(b'"case":"nsq/', b'"case":"iggy/'), "expected a case of nsq"),
        (GOOD.replace(b'"clause":"ext.', b'"clause":7,"x":"ext.'), "Expected `str`, got `int`"),
        (GOOD, "has a second record in this bundle"),
        (b'{"kind":"prophecy"}', "'prophecy' are unknown to this version"),
        (GOOD.replace(b'"case":"nsq/', b'"case":"nsq/x-'), ""),
    ],
    ids=["cut", "no-json", "verdict", "protocol", "type", "twice", "kind", "good"],
)
def test_a_bad_line_is_put_aside_with_its_reason(tmp_path: Path, line: bytes, reason: str) -> None:
    source = bundle(tmp_path / "b.jsonl")
    path = with_lines(tmp_path / "c.jsonl", source, line)

    read = Read(path)

    bad = read.tables["quarantine"]
    assert len(read.tables["results"]) + len(bad) == 4
    if reason:
        (row,) = bad
        assert (row["file"], row["line"]) == ("c.jsonl", 5)
        assert isinstance(row["record"], bytes)
        assert row["record"].startswith(line)
        assert reason in str(row["reason"])
        assert read.tables["runs"][0]["quarantined"] == 1


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-400])


def without_footer(path: Path) -> None:
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))


def changed(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"verdict":"pass"', b'"verdict":"fail"', 1))


def twice(path: Path) -> None:
    path.write_bytes(path.read_bytes() * 2)


def foreign(path: Path) -> None:
    path.write_text('{"kind":"span","name":"x"}\n')


def newer(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"format":1', b'"format":99', 1))


def other_protocol(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"protocol":"nsq"', b'"protocol":"kafka"', 1))


def half_packed(path: Path) -> None:
    path.write_bytes(gzip.compress(path.read_bytes())[:-20])


def gone(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (cut, "is cut off in line"),
        (without_footer, "is cut off: it ends after 3 records without a footer"),
        (changed, "was changed after the run"),
        (twice, "split the file after the footer"),
        (foreign, "is not a bundle"),
        (newer, "has bundle format 99, this version reads up to"),
        (other_protocol, "protocol 'kafka' is unknown"),
        (half_packed, "cannot read"),
        (gone, "cannot read"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_damaged_bundle_is_refused_and_leaves_no_row(
    tmp_path: Path, spoil: Callable[[Path], None], sentence: str
) -> None:
    good, bad = bundle(tmp_path / "b.jsonl"), bundle(tmp_path / "c.jsonl", seed=2)
    spoil(bad)
    data = bad.read_bytes() if bad.exists() else None

    read = Read(good, bad)

    assert list(read.faults) == [str(bad)]
    assert sentence in read.faults[str(bad)]
    assert len(read.bundles) == 1
    assert {row["bundle"] for row in read.tables["results"]} == set(read.bundles)
    assert read.hashes[str(bad)] == ("" if data is None else hashlib.sha256(data).hexdigest())


def test_a_bundle_that_changes_between_two_readings_is_refused(tmp_path: Path) -> None:
    path = bundle(tmp_path / "b.jsonl")
    collected = Collected()
    reader = make_reader(NO_NAMING, {str(path): "another"}, collected, strict=False)

    (row,) = pa.Table.from_batches(reader(files(path))).to_pylist()

    assert (row["kind"], row["bundle"], row["line"]) == ("quarantine", "another", 0)
    assert "was changed while it was read" in str(row["reason"])
    assert [one.fault for one in collected.outcomes] == [row["reason"]]


def test_findings_of_a_campaign_are_rows(tmp_path: Path) -> None:
    sent = SentRecord(hex="00ff", length=2)
    case = FuzzCaseRecord(BIG[0], "fresh", "PUB_EXT", "header_length", "one-more", (sent,))
    finding = FindingRecord(
        id="9f31c2",
        violated="answer-owed",
        words="An answer was owed.",
        state="fresh",
        frame="PUB_EXT",
        field="header_length",
        answer="silence",
        seed=BIG[1],
        shown=5,
        runs=5,
        seen=77,
        at_s=1.5,
        cases=(case,),
    )
    campaign = CampaignRecord(
        seed=BIG[1],
        seconds=2.5,
        executed=1000,
        in_frame=900,
        in_frame_s=1.0,
        reconnecting=100,
        reconnecting_s=1.5,
        coverage={"PUB_EXT": {"header_length": {"one-more": {"fresh": 3, "subscribed": 4}}}},
    )
    first = msgspec.structs.replace(finding, seen=1)  # as it is written when it is found
    lines = [msgspec.json.encode(record) for record in (first, finding, campaign)]
    path = with_lines(tmp_path / "c.jsonl", bundle(tmp_path / "b.jsonl"), *lines)

    tables = Read(path).tables

    (found,) = tables["findings"]
    assert (found["finding"], found["mutation"], found["seen"]) == ("9f31c2", "one-more", 77)
    assert (found["seed"], found["index"]) == (str(BIG[1]), str(BIG[0]))
    (told,) = tables["campaigns"]
    assert (told["seed"], told["duration_ms"], told["executed"]) == (str(BIG[1]), 2500, 1000)
    assert tables["runs"][0]["findings"] == 1
    mutated = [row for row in tables["grammar"] if row["way"] == "one-more"]
    assert [(row["frame"], row["field"], row["sent"]) for row in mutated] == [
        ("PUB_EXT", "header_length", 7)
    ]


def campaign_of(seconds: float, sent: int) -> bytes:
    record = CampaignRecord(
        seed=1,
        seconds=seconds,
        executed=1,
        in_frame=1,
        in_frame_s=1.0,
        reconnecting=0,
        reconnecting_s=0.0,
        coverage={"PUB": {"body": {"one-more": {"fresh": sent, "subscribed": sent}}}},
    )
    return msgspec.json.encode(record)


@pytest.mark.parametrize(
    ("seconds", "sent", "name"), [(1e306, 1, "seconds"), (1.0, 2**48 + 1, "coverage")]
)
def test_a_campaign_of_impossible_length_is_put_aside(
    tmp_path: Path, seconds: float, sent: int, name: str
) -> None:
    line = campaign_of(seconds, sent)
    path = with_lines(tmp_path / "c.jsonl", bundle(tmp_path / "b.jsonl"), line)

    tables = Read(path).tables

    assert [str(row["reason"]).partition(",")[0] for row in tables["quarantine"]] == [
        f"{name}: expected a count up to 2^48"
    ]
    assert tables["campaigns"] == []
    assert len(tables["results"]) == 3


def test_a_bundle_whose_counts_no_column_holds_is_refused_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "LONGEST_COUNT", 2**62)
    good, other = bundle(tmp_path / "a.jsonl"), bundle(tmp_path / "b.jsonl", seed=2)
    bad = with_lines(tmp_path / "c.jsonl", other, campaign_of(1.0, 2**62))

    read = Read(bad, good)

    assert list(read.faults) == [str(bad)]
    assert read.faults[str(bad)].startswith(f"cannot read {bad}: ")
    assert [row["seed"] for row in read.tables["runs"]] == ["1"]
    assert len(read.tables["results"]) == 3


def test_text_that_no_terminal_likes_comes_through(tmp_path: Path) -> None:
    odd = "\x1b[31m\u2028\U0001f4a5 \"'\\"
    record = made.case("publish/odd", "ext.publish.header-json", odd, odd, note=odd)

    (row,) = Read(bundle(tmp_path / "b.jsonl", [record])).tables["results"]

    assert row["observation"] == odd
