"""What a run writes where there is no terminal: failures, and a line for each interface."""

import io
import re
from dataclasses import replace
from typing import Any

import cli_bundle as made
import msgspec
import pytest
from bundle_fixture import write_bundle
from test_cli_view import bundle_count, result

from wireproof.view.display import LineDisplay
from wireproof.view.rows import by_interface, counts
from wireproof.view.style import PLAIN
from wireproof.view.summary import Result, remarks, summary
from wireproof_kit.bundle.file import Bundle, read_bundle
from wireproof_spec.record import VERDICTS, FooterRecord


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return read_bundle(write_bundle(tmp_path_factory.mktemp("log") / "run.jsonl"))


def log(bundle: Bundle, **options: Any) -> list[str]:
    """Return what a run, or a bundle that is judged again, writes outside of a terminal."""
    out = io.StringIO()
    display = LineDisplay(out, None, PLAIN, **options)
    display.begin(bundle.header, selected=len(bundle.cases))
    for record in bundle.cases:
        display.case(record)
    display.end(result(bundle))
    return out.getvalue().splitlines()


def test_a_log_has_a_line_for_each_interface_and_for_each_failure(bundle: Bundle) -> None:
    lines = log(bundle)

    assert not any(line.startswith(("PASS ", "N/A ", "READING ")) for line in lines)
    assert any(re.match(r"FAIL nsq/\S+ [\d.]+ ms  expected ", line) for line in lines)
    for name, marks in by_interface(bundle.cases, bundle.header).items():
        assert any(re.match(rf"{name} +{counts(marks)}$", line) for line in lines), name


def test_a_verbose_log_has_a_line_for_each_case(bundle: Bundle) -> None:
    lines = log(bundle, verbose=1)

    assert "\x1b" not in "".join(lines)
    assert sum(line.startswith("PASS nsq/") for line in lines) == bundle_count(bundle, "pass")
    assert sum(line.startswith("N/A nsq/") for line in lines) == bundle_count(
        bundle, "unsupported"
    )
    assert not any(re.match(r"nsq/\S+ +\d+ pass", line) for line in lines)


@pytest.mark.parametrize("verbose", [0, 1])
def test_equal_reasons_of_cases_that_were_left_out_are_one_line(
    bundle: Bundle, verbose: int
) -> None:
    (lacking, *_) = [each for each in bundle.cases if each.verdict == "unsupported"]
    many = [msgspec.structs.replace(lacking, case=f"nsq/none/{n}") for n in range(900)]

    lines = log(replace(bundle, cases=tuple(many)), verbose=verbose)

    reason = lacking.reason.split()[-1]
    assert sum(reason in line for line in lines) == 1
    assert any(line.startswith("n/a      900 ") for line in lines)
    assert any(re.match(r"nsq/none +900 n/a$", line) for line in lines) is not bool(verbose)


def test_a_bundle_that_is_judged_again_has_no_line_of_a_case_in_a_log(bundle: Bundle) -> None:
    lines = log(bundle, recorded=True)

    assert any(re.match(r"nsq/\S+ +\d+ pass", line) for line in lines)
    assert not any(line.startswith("FAIL nsq/") for line in lines)


def test_of_a_bundle_that_is_judged_again_failures_alone_may_be_shown(bundle: Bundle) -> None:
    lines = log(bundle, recorded=True, failures_only=True)

    assert any(line.startswith("FAIL nsq/") for line in lines)
    assert not any(re.match(r"nsq/\S+ +\d+ pass", line) for line in lines)


def test_failures_alone_may_be_shown(bundle: Bundle) -> None:
    out = io.StringIO()
    display = LineDisplay(out, None, PLAIN, failures_only=True)
    display.begin(bundle.header, selected=len(bundle.cases))
    for record in bundle.cases:
        display.case(record)

    text = out.getvalue()
    assert len({record.verdict for record in bundle.cases}) == len(VERDICTS)
    for record in bundle.cases:
        is_wrong = record.verdict in ("fail", "error", "inconclusive", "unstable")
        is_counted = record.verdict != "fail" or bundle.header.counts(record.level, record.origin)
        assert (f" {record.case} " in text) == (is_wrong and is_counted)


@pytest.mark.parametrize(
    ("observation", "told"),
    [
        ("ok", "left     the target still has 1 thing that this run made: topic wp_a"),
        (
            "inconclusive:target-died",
            "left     the target ended, and keeps what it has on disk of",
        ),
    ],
)
def test_what_a_run_left_behind_is_not_said_of_a_dead_target_as_of_another(
    observation: str, told: str
) -> None:
    record = msgspec.structs.replace(next(made.conforming()), observation=observation)
    footer = FooterRecord({}, (), {}, 0, "")
    result = Result(made.header(), (record,), footer, left_behind=("topic wp_a",))

    assert told in "\n".join(summary(result, verbose=0, quiet=False, style=PLAIN))


def test_a_hundred_cases_stand_apart_from_their_heading() -> None:
    one = msgspec.structs.replace(next(made.conforming()), verdict="inconclusive", reason="why")
    records = [msgspec.structs.replace(one, case=f"nsq/a/{number}") for number in range(100)]

    assert next(iter(remarks(made.header(), records))) == "undecided 100"
