"""Bundles taken into a history: whole or not at all, each once, bad lines put aside."""

import errno
import fcntl
import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import bundle_fixture as made
import msgspec
import pytest
from history_fixture import bundle, made_older, rows, tree, with_lines

from wireproof_reports.bundle_file import BundleFault
from wireproof_reports.pipeline.ingest import ingest
from wireproof_reports.pipeline.manifest import NAME, HistoryFault, read_manifest
from wireproof_reports.pipeline.staging import MOST_SMALL
from wireproof_spec.history import TABLES, VERSION
from wireproof_spec.record import (
    CampaignRecord,
    DifferenceRecord,
    FindingRecord,
    FuzzCaseRecord,
    SentRecord,
)

BIG = (2**64 - 1, 2**128 - 1)


@pytest.fixture
def history(tmp_path: Path) -> Path:
    return tmp_path / "history"


def test_every_case_of_a_bundle_is_a_row(tmp_path: Path, history: Path) -> None:
    path = made.write_bundle(tmp_path / "b.jsonl")
    records = [json.loads(line) for line in path.read_text().splitlines()[1:-1]]

    taken = ingest([path], history)

    found = {row["case"]: row for row in rows(history, "results")}
    assert taken.results == len(records) == len(found)
    for record in records:
        row = found[record["case"]]
        for name in ("case_hash", "clause", "level", "verdict", "observation", "reason"):
            assert row[name] == record[name]
        assert row["duration_us"] == record["duration_us"]
        assert row["accepted"] == record["accepted"]
        assert row["signature"] == (record["signature"] or "")
        assert row["runs"] == record["repeats"]["runs"]
        assert (row["protocol"], row["day"]) == ("nsq", "2026-11-21")


def test_the_run_itself_is_a_row(tmp_path: Path, history: Path) -> None:
    path = bundle(tmp_path / "b.jsonl", seed=BIG[1])

    ingest([path], history)

    (run,) = rows(history, "runs")
    assert run["seed"] == str(BIG[1])
    assert (run["vendor"], run["version"]) == ("nsqd", "1.2.0")
    assert (run["file"], run["cases"], run["quarantined"]) == ("b.jsonl", 3, 0)


@pytest.mark.parametrize("number", BIG)
def test_wire_integers_stay_exact_text(tmp_path: Path, history: Path, number: int) -> None:
    difference = DifferenceRecord("trace_id", 9, str(number), str(number - 1))
    record = made.failed(
        "trace/id/largest",
        "ext.trace.response",
        "The largest id comes back.",
        f"trace:{number}",
        ["trace"],
        difference=difference,
    )

    ingest([bundle(tmp_path / "b.jsonl", [record])], history)

    (row,) = rows(history, "results")
    assert row["observation"] == f"trace:{number}"
    assert (row["difference_expected"], row["difference_found"]) == (str(number), str(number - 1))


def test_a_bundle_is_taken_once_whatever_its_name_and_packing(
    tmp_path: Path, history: Path
) -> None:
    path = bundle(tmp_path / "b.jsonl")
    packed = tmp_path / "c.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))

    first = ingest([path, packed], history)
    before = tree(history)
    second = ingest([packed, path], history)

    assert (first.bundles, first.already) == (1, 1)
    assert (second.bundles, second.already, second.results) == (0, 2, 0)
    assert tree(history) == before


def test_days_and_versions_lie_apart(tmp_path: Path, history: Path) -> None:
    days = ["2026-11-21T23:59:59+00:00", "2026-11-22T00:30:00+01:00", "2026-11-23T09:00:00", ""]
    paths = [bundle(tmp_path / f"{i}.jsonl", started=day) for i, day in enumerate(days)]

    ingest(paths, history)

    found = sorted(str(row["day"]) for row in rows(history, "runs"))
    assert found == ["2026-11-21", "2026-11-21", "2026-11-23", "__HIVE_DEFAULT_PARTITION__"]


GOOD = msgspec.json.encode(next(made.passes()))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"kind":"case"', "truncated"),
        (b"not json", "malformed"),
        (GOOD.replace(b'"verdict":"pass"', b'"verdict":"perhaps"'), "perhaps"),
        (GOOD.replace(b'"case":"nsq/', b'"case":"iggy/'), "expected a case of nsq"),
        (GOOD.replace(b'"clause":"ext.', b'"clause":7,"x":"ext.'), "Expected `str`, got `int`"),
        (GOOD, "stands in this bundle twice"),
        (b'{"kind":"prophecy"}', "'prophecy' are unknown to this version"),
        (GOOD.replace(b'"case":"nsq/', b'"case":"nsq/x-'), ""),
    ],
    ids=["cut", "no-json", "verdict", "protocol", "type", "twice", "kind", "good"],
)
def test_a_bad_line_is_put_aside_with_its_reason(
    tmp_path: Path, history: Path, line: bytes, reason: str
) -> None:
    source = bundle(tmp_path / "b.jsonl")
    path = with_lines(tmp_path / "c.jsonl", source, line)

    taken = ingest([path], history)

    bad = rows(history, "quarantine")
    assert len(rows(history, "results")) + len(bad) == 4
    assert [each.line for each in taken.quarantined] == [row["line"] for row in bad]
    if reason:
        (row,) = bad
        assert row["line"] == 5
        assert isinstance(row["record"], bytes)
        assert row["record"].startswith(line)
        assert reason in str(row["reason"])
        assert rows(history, "runs")[0]["quarantined"] == 1


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
    path.write_bytes(gzip.compress(path.read_bytes())[:-60])


def gone(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (cut, "is cut off"),
        (without_footer, "without a footer"),
        (changed, "was changed after the run"),
        (twice, "two bundles"),
        (foreign, "is not a bundle"),
        (newer, "has bundle format 99, this version reads up to"),
        (other_protocol, "protocol 'kafka' is unknown"),
        (half_packed, "cannot read"),
        (gone, "cannot read"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
@pytest.mark.parametrize("is_new", [True, False], ids=["new", "kept"])
def test_one_damaged_bundle_leaves_the_history_as_it_was(
    tmp_path: Path, history: Path, spoil: Callable[[Path], None], sentence: str, is_new: bool
) -> None:
    if not is_new:
        ingest([bundle(tmp_path / "a.jsonl", seed=7)], history)
    before = tree(history)
    good, bad = bundle(tmp_path / "b.jsonl"), bundle(tmp_path / "c.jsonl", seed=2)
    spoil(bad)

    with pytest.raises(BundleFault, match=sentence):
        ingest([good, bad], history)

    assert tree(history) == before
    assert history.exists() is not is_new


@pytest.mark.parametrize("key", ["format", "version"])
def test_a_history_of_a_newer_kit_is_left_alone(tmp_path: Path, history: Path, key: str) -> None:
    ingest([bundle(tmp_path / "a.jsonl")], history, kit="7.0")
    manifest = json.loads((history / NAME).read_text())
    (history / NAME).write_text(json.dumps({**manifest, key: 99}))
    before = tree(history)

    with pytest.raises(HistoryFault, match=r"by wireproof 7\.0: .* 99, this version reads up to"):
        ingest([bundle(tmp_path / "b.jsonl", seed=2)], history)

    assert tree(history) == before


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("notes.txt", "mine", "it holds notes.txt"),
        ("results/x/y/part-1.parquet", "rows", "it holds results"),
        (NAME, "{", "is damaged"),
        (NAME, '{"history":"of art","format":1}', "not of wireproof"),
        (NAME, '{"history":"wireproof","format":1,"parts":7}', "is damaged"),
    ],
)
def test_a_folder_that_is_no_history_is_left_alone(
    tmp_path: Path, history: Path, name: str, text: str, sentence: str
) -> None:
    (history / name).parent.mkdir(parents=True)
    (history / name).write_text(text)
    before = tree(history)

    with pytest.raises(HistoryFault, match=sentence):
        ingest([bundle(tmp_path / "b.jsonl")], history)

    assert tree(history) == before


def test_small_inputs_are_merged(tmp_path: Path, history: Path) -> None:
    count = 3 * MOST_SMALL
    for seed in range(count):
        ingest([bundle(tmp_path / "b.jsonl", seed=seed)], history)

    parts = read_manifest(history).parts
    assert all(
        len([part for part in parts if part.table == table]) <= MOST_SMALL for table in TABLES
    )
    assert len({row["seed"] for row in rows(history, "runs")}) == count
    assert len(rows(history, "results")) == 3 * count
    assert {name for name in tree(history) if name != NAME} == {part.place for part in parts}


def test_many_bundles_at_once_are_one_file_a_table(tmp_path: Path, history: Path) -> None:
    paths = [bundle(tmp_path / f"{seed}.jsonl", seed=seed) for seed in range(40)]

    ingest(paths, history)

    assert sorted(part.table for part in read_manifest(history).parts) == [
        "grammar",
        "results",
        "runs",
    ]
    assert len(rows(history, "results")) == 120


def test_findings_of_a_campaign_are_rows(tmp_path: Path, history: Path) -> None:
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
    lines = [msgspec.json.encode(record) for record in (finding, campaign)]
    path = with_lines(tmp_path / "c.jsonl", bundle(tmp_path / "b.jsonl"), *lines)

    ingest([path], history)

    (found,) = rows(history, "findings")
    assert (found["finding"], found["mutation"], found["seen"]) == ("9f31c2", "one-more", 77)
    assert (found["seed"], found["index"]) == (str(BIG[1]), str(BIG[0]))
    (told,) = rows(history, "campaigns")
    assert (told["seed"], told["duration_ms"], told["executed"]) == (str(BIG[1]), 2500, 1000)
    assert rows(history, "runs")[0]["findings"] == 1
    mutated = [row for row in rows(history, "grammar") if row["way"] == "one-more"]
    assert [(row["frame"], row["field"], row["sent"]) for row in mutated] == [
        ("PUB_EXT", "header_length", 7)
    ]


def test_a_history_of_the_first_version_is_read_and_merged(tmp_path: Path, history: Path) -> None:
    for seed in range(MOST_SMALL):
        ingest([bundle(tmp_path / "a.jsonl", seed=seed)], history, kit="0.1.0")
    made_older(history, 1)
    assert all("findings" not in row for row in rows(history, "runs"))

    ingest([bundle(tmp_path / "b.jsonl", seed=99)], history)

    found = {str(row["seed"]): row["findings"] for row in rows(history, "runs")}
    assert found == {**{str(seed): None for seed in range(MOST_SMALL)}, "99": 0}
    assert read_manifest(history).version == VERSION


def test_a_history_in_use_is_said_to_be(tmp_path: Path, history: Path) -> None:
    ingest([bundle(tmp_path / "a.jsonl")], history)
    number = os.open(history, os.O_RDONLY)
    fcntl.flock(number, fcntl.LOCK_SH)
    try:
        with pytest.raises(HistoryFault, match="is in use"):
            ingest([bundle(tmp_path / "b.jsonl", seed=2)], history)
    finally:
        os.close(number)
    assert ingest([bundle(tmp_path / "b.jsonl", seed=2)], history).bundles == 1


SYNCED = 7
"""How often an ingest of one bundle has the disk keep something: three files, their folders,
the manifest."""


@pytest.mark.parametrize("allowed", range(SYNCED + 1))
@pytest.mark.parametrize("is_new", [True, False], ids=["new", "kept"])
def test_a_full_disk_leaves_the_history_as_it_was(
    tmp_path: Path, history: Path, allowed: int, is_new: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_new:
        ingest([bundle(tmp_path / "a.jsonl")], history)
    before, path = tree(history), bundle(tmp_path / "b.jsonl", seed=2)
    begun = 2 if is_new else 0
    calls: list[int] = []
    fsync = os.fsync

    def full(number: int) -> None:
        calls.append(number)
        if len(calls) > allowed + begun:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(number)

    monkeypatch.setattr(os, "fsync", full)
    if allowed == SYNCED:
        assert ingest([path], history).bundles == 1
        return
    with pytest.raises(HistoryFault, match=r"No space left on device.*as it was before"):
        ingest([path], history)

    assert tree(history) == before
    assert history.exists() is not is_new


def test_text_that_no_terminal_likes_comes_through(tmp_path: Path, history: Path) -> None:
    odd = "\x1b[31m\u2028\U0001f4a5 \"'\\"
    record = made.case("publish/odd", "ext.publish.header-json", odd, odd, note=odd)

    ingest([bundle(tmp_path / "b.jsonl", [record])], history)

    assert rows(history, "results")[0]["observation"] == odd
