"""Ways of a bundle as results beside its cases."""

from pathlib import Path

import bundle_fixture as made
import msgspec
import pytest
from history_fixture import bundle, with_lines
from incoming_fixture import Read

from wireproof_spec.record import Verdict, WayRecord


def made_way(verdict: Verdict, *, counted: bool = True, clause: str = "") -> bytes:
    """Return a way of the clause of a case that passes, or of another one, as a line."""
    case = next(made.passes())
    name = f"nsq/passing/{clause or case.clause}/plain"
    result = msgspec.structs.replace(
        case, case=name, clause=clause or case.clause, verdict=verdict, duration_us=0
    )
    broken = int(verdict not in ("pass", "reading"))
    return msgspec.json.encode(WayRecord(result, 1 - broken, broken, counted=counted))


def with_way(tmp_path: Path, way: bytes) -> dict[str, list[dict[str, object]]]:
    source = bundle(tmp_path / "a.jsonl", [next(made.passes())])
    return Read(with_lines(tmp_path / "b.jsonl", source, way)).tables


@pytest.mark.parametrize("verdict", ["pass", "fail", "unstable"])
def test_a_way_that_counts_is_a_result_beside_the_cases(tmp_path: Path, verdict: Verdict) -> None:
    tables = with_way(tmp_path, made_way(verdict))

    case, way = tables["results"]
    assert (way["case"], way["interface"], way["verdict"]) == (
        f"nsq/passing/{case['clause']}/plain",
        "nsq/passing",
        verdict,
    )
    assert (tables["runs"][0]["cases"], tables["quarantine"]) == (1, [])


def test_a_way_that_is_shown_only_is_neither_a_result_nor_put_aside(tmp_path: Path) -> None:
    tables = with_way(tmp_path, made_way("fail", counted=False))

    assert (len(tables["results"]), tables["quarantine"]) == (1, [])


@pytest.mark.parametrize(("verdict", "results"), [("pass", 1), ("fail", 2)])
def test_a_kept_way_says_nothing_of_a_clause_that_no_case_decided(
    tmp_path: Path, verdict: Verdict, results: int
) -> None:
    tables = with_way(tmp_path, made_way(verdict, clause="ext.consume.attempts"))

    assert len(tables["results"]) == results
