"""Bundles found in folders, and shared out among tasks."""

import errno
import os
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spark_cluster import QUICK

from wireproof_reports.bundle_file import BundleFault
from wireproof_reports.pipeline.bundles.landing import (
    SLICE_BYTES,
    escape,
    files,
    local_paths,
    measure,
    slices,
    split,
)
from wireproof_reports.pipeline.bundles.wanted import FEW_BYTES, are_few
from wireproof_reports.pipeline.session import Wanted, session


def test_a_folder_means_the_bundles_below_it(tmp_path: Path) -> None:
    for name in ("b.jsonl", "deep/a.jsonl.gz", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")

    found = [path.name for path in local_paths([str(tmp_path), str(tmp_path / "notes.txt")])]

    assert found == ["b.jsonl", "a.jsonl.gz", "notes.txt"]


def test_links_out_of_a_folder_are_not_followed_but_refused(tmp_path: Path) -> None:
    landing, shared = tmp_path / "landing", tmp_path / "shared"
    for folder in (landing, shared):
        folder.mkdir()
        (folder / f"{folder.name}.jsonl").write_text("")
    (landing / "a").symlink_to(shared)
    (landing / "b.jsonl").symlink_to(shared / "shared.jsonl")
    (landing / "back").symlink_to(landing)  # what is behind it is found without it
    (landing / "same.jsonl").symlink_to(landing / "landing.jsonl")

    paths, refused = measure(local_paths([str(landing)]))

    assert [Path(path).name for path, _ in paths] == ["landing.jsonl"]
    assert [one.reason for one in refused] == [
        f"cannot read {landing}/a: it is a symbolic link; name {shared}",
        f"cannot read {landing}/b.jsonl: it is a symbolic link; name {shared}/shared.jsonl",
    ]


def test_a_link_that_the_user_names_is_followed(tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_text("")
    (tmp_path / "newest.jsonl").symlink_to(tmp_path / "b.jsonl")

    assert list(local_paths([str(tmp_path / "newest.jsonl")])) == [tmp_path / "b.jsonl"]


def test_a_subfolder_that_cannot_be_read_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "b.jsonl").write_text("")
    (tmp_path / "closed").mkdir()
    scandir = os.scandir

    def refuse(path: str) -> object:  # the tests may run as root, who may read all folders
        if os.fspath(path).endswith("closed"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)

    with pytest.raises(BundleFault, match=r"cannot read .*/closed: Permission denied"):
        list(local_paths([str(tmp_path)]))


def test_what_is_no_regular_file_is_no_bundle(tmp_path: Path) -> None:
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "folder.jsonl" / "b.jsonl").write_text("")
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "none")

    paths, refused = measure(local_paths([str(tmp_path)]))

    assert paths == [(str(tmp_path / "folder.jsonl" / "b.jsonl"), 0)]
    assert [one.reason.rpartition(": ")[2] for one in refused] == [
        "No such file or directory",
        "it is no regular file",
    ]


@pytest.mark.parametrize(("name", "words"), [("none", "no such file"), ("", "no bundle in it")])
def test_what_is_not_there_is_said(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(BundleFault, match=words):
        list(local_paths([str(tmp_path / name)]))


@given(st.lists(st.integers(0, 10**8), max_size=200), st.integers(1, 16))
def test_tasks_are_neighbours_of_about_the_same_size(sizes: list[int], cores: int) -> None:
    numbers = list(slices(sizes, cores))

    assert numbers == sorted(numbers)
    assert len(numbers) == len(sizes)
    share = max(1, min(SLICE_BYTES, -(-(sum(sizes) + len(sizes)) // cores)))
    for _, members in groupby(zip(numbers, sizes, strict=True), key=lambda each: each[0]):
        of_task = [size + 1 for _, size in members]
        assert sum(of_task[:-1]) < share + max(of_task)


@pytest.mark.process
@pytest.mark.spark
@pytest.mark.parametrize("cores", [2, 9])
def test_bundles_are_spread_over_the_cores_of_the_master(tmp_path: Path, cores: int) -> None:
    """Without any setting of the user's own."""
    wanted = Wanted(f"local[{cores}]", settings=QUICK)
    with session(wanted, tmp_path / "log") as spark:
        frame = files(spark, [(f"{number}.jsonl", 1000) for number in range(40)])

        assert frame.rdd.getNumPartitions() == cores


def test_a_url_of_a_file_is_that_file() -> None:
    named = ["runs/a.jsonl", "file:///shared/b [1].jsonl", "s3a://bucket/landing"]

    assert split(named) == (["runs/a.jsonl", "/shared/b [1].jsonl"], ["s3a://bucket/landing"])


def test_signs_that_are_patterns_to_spark_are_escaped() -> None:
    assert escape("s3a://b/a[1]*?{x}.jsonl") == r"s3a://b/a\[1\]\*\?\{x\}.jsonl"


@pytest.mark.parametrize(
    ("name", "size", "few"),
    [
        ("a.jsonl", FEW_BYTES, True),
        ("a.jsonl", FEW_BYTES + 1, False),
        ("a.jsonl.gz", FEW_BYTES // 8, True),
        ("a.jsonl.gz", FEW_BYTES // 8 + 1, False),
    ],
)
def test_few_bundles_are_told_from_their_bytes(
    tmp_path: Path, name: str, size: int, *, few: bool
) -> None:
    with (tmp_path / name).open("wb") as file:
        file.truncate(size)  # without taking room on the disk

    assert are_few([str(tmp_path)]) is few
    assert are_few([str(tmp_path / name)]) is few


def test_how_much_lies_in_an_object_store_is_not_known() -> None:
    assert not are_few(["s3a://bucket/landing"])


def test_a_bundle_that_cannot_be_looked_at_is_left_to_ingest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python up to 3.11 raises where a folder on the way may not be searched."""

    def refused(path: Path, **_: object) -> os.stat_result:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_dir", lambda _path: False)
    monkeypatch.setattr(Path, "stat", refused)

    assert not are_few([str(tmp_path / "b.jsonl")])
