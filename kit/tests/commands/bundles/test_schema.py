"""The JSON Schemas hold what the kit has written: recorded bundles, and events of `--json`."""

import gzip
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import cli_bundle as made
import pytest
from cli_process import wireproof
from jsonschema import Draft202012Validator

from wireproof.commands.bundles.schema import SCHEMAS, make_schema

RECORDED = sorted((Path(__file__).parents[4] / "docs" / "peers").glob("*/*.jsonl.gz"))


@cache
def validator(kind: str) -> Draft202012Validator:
    return Draft202012Validator(make_schema(kind))


def check(kind: str, lines: list[str]) -> list[Any]:
    found = [json.loads(line) for line in lines]
    for each in found:
        validator(kind).validate(each)
    return found


def shapes(path: Path) -> Iterator[str]:
    """Yield one line of a bundle for each set of members that its lines have.

    All lines of all bundles would take minutes, and most repeat the members of another one.
    """
    seen: set[tuple[str, ...]] = set()
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            record = json.loads(line)
            shape = (record["kind"], *sorted(name for name in record if record[name] is not None))
            if shape not in seen:
                seen.add(shape)
                yield line


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_schema_is_one_and_has_a_version(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    from wireproof.main import main

    assert main(["schema", kind]) == 0
    printed = json.loads(capsys.readouterr().out)

    Draft202012Validator.check_schema(printed)
    assert printed["$id"].rpartition(":")[2].isdigit()


@pytest.mark.slow
@pytest.mark.parametrize("bundle", RECORDED, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_recorded_bundles_fit_the_schema(bundle: Path) -> None:
    kinds = {record["kind"] for record in check("bundle", list(shapes(bundle)))}
    assert {"header", "footer"} <= kinds


def test_a_schema_refuses_what_the_kit_never_writes() -> None:
    for kind in SCHEMAS:
        assert not validator(kind).is_valid({})
        assert not validator(kind).is_valid({"event": "deviation", "at": 1.0, "conn": "nsqd1.1"})
        assert not validator(kind).is_valid({"event": "verdict", "exit": "1"})


@pytest.mark.process
def test_events_fit_the_schema(tmp_path: Path) -> None:
    made.write(tmp_path / "a.jsonl", made.failing(2))
    made.write(tmp_path / "b.jsonl", made.failing(3))
    run = wireproof("run", "--reference", "ext.publish.trace-response", "--json", cwd=tmp_path)
    dead = wireproof("run", "nsq://127.0.0.1:1", "--json", cwd=tmp_path)
    again = wireproof("judge", "a.jsonl", "--json", cwd=tmp_path)
    differs = wireproof("diff", "a.jsonl", "b.jsonl", "--json", cwd=tmp_path)
    campaign = ("--frames", "IDENTIFY", "--cases", "3", "--seed", "1", "--json")
    fuzzed = wireproof("fuzz", "--reference", "nsq", *campaign, cwd=tmp_path)

    assert [event["event"] for event in check("run", run.out.splitlines())][-1] == "verdict"
    assert check("run", dead.out.splitlines())[-1]["fault"]
    assert check("run", again.out.splitlines())[-1]["causes"]
    assert check("diff", differs.out.splitlines())[-1]["cases"]
    assert check("fuzz", fuzzed.out.splitlines())[-1]["event"] == "verdict"
