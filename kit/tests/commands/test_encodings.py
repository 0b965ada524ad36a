"""Output in an encoding that lacks characters of it: replaced, never an error."""

import io
from pathlib import Path

import pytest
from bundle_fixture import write_bundle

from wireproof.commands.table import COMMANDS
from wireproof.main import main

ENCODINGS = ["ascii", "latin-1", "cp1252"]


def printed(arguments: list[str], encoding: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a command whose stdout and stderr have an encoding; return what it wrote to both."""
    written = io.BytesIO()
    for name in ("stdout", "stderr"):
        stream = io.TextIOWrapper(written, encoding=encoding, write_through=True)
        monkeypatch.setattr(f"sys.{name}", stream)
    main(arguments)
    return written.getvalue().decode(encoding)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bundle(tmp_path_factory.mktemp("encodings") / "run.jsonl")


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    "words",
    [
        "judge BUNDLE",
        "judge -vv BUNDLE",
        "judge --failures-only BUNDLE",
        "diff -v BUNDLE BUNDLE",
        "diff --md BUNDLE BUNDLE",
        "list",
        "explain ext.publish.header-json",
        "explain --json ext.publish.header-json",
        "run --dry-run nsq://127.0.0.1:1",
        "run --bundle μ…→é.jsonl/x nsq://127.0.0.1:1",
        "decode 00000006000000014f4b",
        "decode μ…→é",
        *(f"{name} --help" for name in COMMANDS),
    ],
)
def test_every_command_prints_in_every_encoding(
    words: str, encoding: str, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = [str(bundle) if word == "BUNDLE" else word for word in words.split()]

    shown = printed(arguments, encoding, monkeypatch)

    assert shown
    assert "kit error: " not in shown.replace("kit error  ", "")


def test_signs_of_the_kit_are_spelled_and_others_are_escapes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sentence = printed(["explain", "12 µs…é→"], "ascii", monkeypatch)

    assert r"12 us...\xe9\u2192" in sentence
    assert "12 µs…é" in printed(["explain", "12 µs…é→"], "utf-8", monkeypatch)
