"""What a narrowed run comes to: its exit code, and what its summary names."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from cli_process import wireproof

from wireproof.running.request import LAST_FAILED
from wireproof_kit.bundle.file import read_bundle
from wireproof_kit.fuzz.campaign.target import start_alone

pytestmark = [pytest.mark.process, pytest.mark.long]

FAULTS = ("--fault", "reserved-names-taken", "--fault", "trace-ids-swapped")
TRACE, RESERVED = "ext.publish.trace-response", "ext.publish.reserved-name"


@pytest.fixture(scope="module")
def right() -> Iterator[str]:
    with closing(start_alone("nsq")) as broker:
        yield broker.url


@pytest.fixture(scope="module")
def wrong() -> Iterator[str]:
    with closing(start_alone("nsq", FAULTS)) as broker:
        yield broker.url


def test_the_first_failure_that_counts_ends_a_run(wrong: str, tmp_path: Path) -> None:
    """Failures of level may do not count, and do not end a run."""
    done = wireproof("run", wrong, TRACE, RESERVED, "-x", "--bundle", "b.jsonl", cwd=tmp_path)

    failed = [r for r in read_bundle(tmp_path / "b.jsonl").cases if r.verdict == "fail"]
    assert done.code == 1
    assert [r.level for r in failed].count("must") == 1
    assert failed[-1].level == "must"

    wireproof("run", wrong, RESERVED, "-x", "--bundle", "may.jsonl", cwd=tmp_path)
    failed = [r for r in read_bundle(tmp_path / "may.jsonl").cases if r.verdict == "fail"]
    assert len(failed) > 1


def test_what_does_not_count_ends_with_the_profile_to_give(right: str, tmp_path: Path) -> None:
    done = wireproof("run", right, RESERVED, cwd=tmp_path)

    assert done.code == 2
    assert "NO FAILURE" not in done.out
    assert "nothing up to level must was run: --profile may lets these count" in " ".join(
        done.out.split()
    )
    assert wireproof("run", right, RESERVED, "--profile", "may", cwd=tmp_path).code == 0


def test_an_expression_ends_like_a_selection_by_ids(right: str, tmp_path: Path) -> None:
    done = wireproof("run", right, "-k", "test_answer_without_trace_id", cwd=tmp_path)

    assert done.code == 0
    assert "ext.publish (part) " in done.out
    assert "narrowed by -k test_answer_without_trace_id" in done.out


def test_what_failed_last_ends_well_after_the_fix(wrong: str, right: str, tmp_path: Path) -> None:
    assert wireproof("run", wrong, TRACE, cwd=tmp_path).code == 1

    done = wireproof("run", right, "--lf", cwd=tmp_path)

    assert done.code == 0
    assert "narrowed by --lf" in done.out


def test_lf_says_so_where_nothing_failed(right: str, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    done = wireproof("run", right, TRACE, "--lf", cwd=tmp_path)
    assert done.code == 0
    assert f"--lf: {LAST_FAILED} names no failed case; all are selected" in done.err

    (tmp_path / LAST_FAILED).write_text('["nsq/client-connection/handshake"]')
    refused = wireproof("run", right, TRACE, "--lf", cwd=tmp_path).refused()
    assert f"--lf: of {TRACE!r} nothing failed last time; leave --lf out" in refused


def test_what_is_excluded_is_named_as_any_part(right: str, tmp_path: Path) -> None:
    done = wireproof("run", right, "ext.publish", "--exclude", TRACE, cwd=tmp_path)

    assert done.code == 0
    assert "ext.publish (part) " in done.out
    assert f"{TRACE} not selected (--exclude)" in done.out
