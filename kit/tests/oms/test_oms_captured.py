"""Captured documents on disk: found, named, and refused in one sentence."""

import os
from pathlib import Path

import pytest

from wireproof_kit.errors import UsageFault
from wireproof_kit.oms import captured
from wireproof_kit.oms.captured import (
    RECEIVED,
    CapturedDocument,
    document_names,
    documents_of,
    read_documents,
)
from wireproof_kit.targets.target import parse_target


def test_a_file_is_one_document(tmp_path: Path) -> None:
    file = tmp_path / "a b.json"
    file.write_bytes(b'{\n"a": 1}\n')
    assert read_documents(file) == (CapturedDocument("a%20b.json", b'{\n"a": 1}\n'),)


@pytest.mark.parametrize("suffix", [".jsonl", ".ndjson"])
def test_a_file_of_json_lines_is_a_document_a_line(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"m{suffix}"
    file.write_bytes(b'{"a":1}\r\n\n  \n{"a"\n[]')
    found = read_documents(file)
    assert [(each.line, each.data) for each in found] == [
        (1, b'{"a":1}\r'),
        (4, b'{"a"'),
        (5, b"[]"),
    ]
    assert found[1].name == f"m{suffix}:4"


def test_any_other_file_is_one_document_when_it_is_named(tmp_path: Path) -> None:
    file = tmp_path / "message.txt"
    file.write_bytes(b"")
    assert read_documents(file) == (CapturedDocument("message.txt", b""),)


def test_of_a_folder_json_files_count_in_order_and_deep(tmp_path: Path) -> None:
    (tmp_path / "z").mkdir()
    (tmp_path / "z" / "deep.jsonl").write_bytes(b"1\n2\n")
    (tmp_path / "b.json").write_bytes(b"3")
    (tmp_path / "a.ndjson").write_bytes(b"\n4")
    (tmp_path / "empty.jsonl").write_bytes(b"\n")
    (tmp_path / "notes.txt").write_bytes(b"no document")
    target = parse_target(f"oms+file:{tmp_path}", {"oms+file": {}})
    assert document_names(target) == ["a.ndjson:2", "b.json", "z/deep.jsonl:1", "z/deep.jsonl:2"]
    assert [each.data for each in documents_of(target)] == [b"4", b"3", b"1", b"2"]


def test_names_are_escaped_one_to_one(tmp_path: Path) -> None:
    for name in (
        b"a b.json",
        b"a%20b.json",
        "ü[1].json".encode(),
        b"line\nfeed.json",
        b"\xff.json",
    ):
        (tmp_path / os.fsdecode(name)).write_bytes(b"1")
    assert sorted(each.name for each in read_documents(tmp_path)) == [
        "%C3%BC%5B1%5D.json",
        "%FF.json",
        "a%20b.json",
        "a%2520b.json",
        "line%0Afeed.json",
    ]


def refused(path: Path) -> str:
    with pytest.raises(UsageFault) as refusal:
        read_documents(path)
    (sentence,) = str(refusal.value).splitlines()
    return sentence


def test_what_is_not_there_or_holds_nothing_is_refused(tmp_path: Path) -> None:
    assert refused(tmp_path / "no.json").endswith("there is no such file or folder")
    assert "the folder holds no document" in refused(tmp_path)
    (tmp_path / "blank.jsonl").write_bytes(b"\n\r\n \n")
    assert "the file holds no document" in refused(tmp_path / "blank.jsonl")
    assert "the folder holds no document" in refused(tmp_path)
    assert "expected a file or folder" in refused(Path("/dev/null"))


def test_a_file_that_cannot_be_read_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "right.json").write_bytes(b"{}")
    closed = tmp_path / "closed.json"
    closed.write_bytes(b"{}")

    def refusing(path: Path, *arguments: object, **more: object) -> object:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refusing)  # whoever runs this may read every file
    assert refused(tmp_path) == f"{closed}: cannot be read (Permission denied)"


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    (tmp_path / "loop.json").symlink_to(tmp_path / "loop.json")
    assert "holds no document" in refused(tmp_path)
    assert "no such file" in refused(tmp_path / "loop.json")


def test_too_much_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = tmp_path / "m.jsonl"
    lines.write_bytes(b"1\n" * 5)
    monkeypatch.setattr(captured, "MOST_DOCUMENTS", 4)
    assert "more than 4 documents" in refused(lines)
    huge = tmp_path / "huge.json"
    with huge.open("wb") as file:
        os.truncate(file.fileno(), captured.MOST_BYTES + 1)
    assert "more than 64 MiB" in refused(huge)


def test_a_target_without_a_path_has_the_document_that_it_delivers() -> None:
    target = parse_target("oms+http://h:1", {"oms+http": {}})
    assert document_names(target) == [RECEIVED]
    with pytest.raises(UsageFault, match="names no documents"):
        documents_of(target)
