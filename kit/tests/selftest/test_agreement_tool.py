"""The tool that compares our levels with assignments: kappa, what differs, what is no file."""

import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pytest
from tool_modules import ROOT, load_tool

from wireproof_spec.clauses.loading import load_catalogue


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    return load_tool("tools/levels/agreement.py")


def pairs(text: str) -> list[tuple[str, str]]:
    names = {"m": "must", "s": "should", "y": "may", "n": "none"}
    return [(names[word[0]], names[word[1]]) for word in text.split()]


@pytest.mark.parametrize(
    ("compared", "value"),
    [
        ("mm ss nn yy", 1.0),
        ("mm mm mm", 1.0),
        ("mm ms sm ss", 0.0),
        ("ms sm", -1.0),
        # 20 of 35 and 15 of 35 said yes or no, agreed in 25: a textbook's table.
        (" ".join(["mm"] * 20 + ["ms"] * 5 + ["sm"] * 10 + ["ss"] * 15), 0.4),
        ("mm ss nm ns", 1 / 3),
    ],
)
def test_kappa(tool: ModuleType, compared: str, value: float) -> None:
    assert tool.kappa(pairs(compared)) == pytest.approx(value)


def test_without_a_clause_there_is_no_kappa(tool: ModuleType) -> None:
    assert math.isnan(tool.kappa([]))


def test_ours_are_the_clauses_of_origin_text(tool: ModuleType) -> None:
    ours = tool.our_levels()
    clauses = {c.id: c for name in ("nsq", "iggy", "oms") for c in load_catalogue(name).clauses()}
    assert {name for name in ours if name in clauses} == {
        name for name, clause in clauses.items() if clause.origin == "text"
    }
    assert set(ours.values()) <= set(tool.LEVELS)


def test_ours_are_the_clauses_of_all_origins_below_an_id(tool: ModuleType) -> None:
    ours = tool.our_levels(all_origins=True, below="oms.message")
    clauses = {clause.id: clause for clause in load_catalogue("oms").clauses()}
    assert ours.keys() == {name for name, each in clauses.items() if each.group == "oms.message"}
    assert {clauses[name].origin for name in ours} == {"base"}


def write(path: Path, rows: Sequence[dict[str, str]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return str(path)


def test_what_differs_is_listed(
    tool: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ours = dict(list(tool.our_levels().items())[:4])
    same = [{"id": name, "level": level} for name, level in ours.items()]
    name = next(iter(ours))
    other = [{"id": name, "level": "may"}, *same[1:], {"id": "no.such.clause", "level": "must"}]
    files = [write(tmp_path / "a.jsonl", same), write(tmp_path / "b.jsonl", other)]

    assert tool.main(files) == 0

    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("ours and a: kappa 1.000 over 4 clauses")
    assert out[1].startswith("ours and b: kappa ")
    assert out[1].endswith("1 only in the second)")
    assert out[2] == f"  {name}: {ours[name]}, may"
    assert out[3].startswith("a and b: kappa ")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"id": "a"}', "line 1: expected id and level"),
        ("[]", "line 1: expected id and level"),
        ('{"id": "a", "level": "observed"}', "'observed' is none of must, should, may, none"),
        ('{"id": "a", "level": "may"}\n\n{"id": "a", "level": "may"}', "line 3: a stands twice"),
    ],
)
def test_what_is_no_assignment_is_refused(
    tool: ModuleType, text: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.jsonl").write_text(text)

    assert tool.main([str(tmp_path / "a.jsonl")]) == 2

    assert sentence in capsys.readouterr().err


@pytest.mark.process
@pytest.mark.parametrize("arguments", [["agreement.py", "a.jsonl"], ["error_codes.py"]])
def test_a_closed_pipe_is_no_error(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("")
    tool = ROOT / "tools" / "levels" / arguments[0]
    reader, writer = os.pipe()
    os.close(reader)

    done = subprocess.run(
        [sys.executable, tool, *arguments[1:]],
        stdout=writer,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        check=False,
    )

    os.close(writer)
    assert done.stderr == b""
    assert done.returncode == 0
