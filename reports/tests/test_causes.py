from dataclasses import replace

import msgspec
import pytest
from bundle_fixture import case, failed, failures

from wireproof_reports.causes import find_named, fold
from wireproof_reports.exchange.last_words import last_words
from wireproof_spec.clauses.catalogue import Level
from wireproof_spec.clauses.cause import value_class
from wireproof_spec.record import CaseRecord, DifferenceRecord
from wireproof_spec.step_record import StepRecord, TranscriptRecord


def test_cases_of_one_cause_fold() -> None:
    causes = fold(failures())

    assert [(cause.clause, len(cause.cases)) for cause in causes] == [
        ("ext.publish.trace-response", 3),
        ("ext.parser.header-length", 2),
        ("ext.http.x-nsqext", 1),
        ("ext.publish.header-name", 3),
    ]
    assert [cause.number for cause in causes] == [1, 2, 3, 4]


def traced(name: str, field: str, steps: int = 2, **changes: object) -> CaseRecord:
    record = failed(
        name,
        "ext.publish.trace-response",
        "title",
        "trace:little-endian,open",
        ("trace,open",),
        difference=DifferenceRecord(field, 10, "1", "2"),
    )
    talk = TranscriptRecord(
        tuple(StepRecord(1, "A", "send", "00", length=1) for _ in range(steps))
    )
    return msgspec.structs.replace(record, transcript=talk, **changes)


def test_the_field_in_which_most_cases_differ_is_shown() -> None:
    """A trace id of 0 is the same in both byte orders, so that a later field differs first."""
    zero = traced("publish/trace/zero", "disk_queue_offset")
    others = [traced(f"publish/trace/{name}", "trace_id") for name in ("one", "two")]
    (cause,) = fold([zero, *others])

    assert cause.shown == others[0]


@pytest.mark.parametrize(
    "odd",
    [
        traced("trace/response-subscribed", "trace_id", 4),
        traced("trace/response-ext", "trace_id", needs=("ext",)),
        traced("trace/response/alone/third-partition", "trace_id"),
        traced("passing/ext.publish.trace-response/ext", "trace_id", 1),
        traced("trace/unsent", "trace_id", 0),
    ],
    ids=["more steps", "a need", "a condition", "a way", "no exchange"],
)
def test_the_plainest_exchange_is_shown(odd: CaseRecord) -> None:
    plain = traced("trace/response/alone", "trace_id")
    (cause,) = fold([odd, plain])

    assert cause.shown == plain


@pytest.mark.parametrize("kind", ["case", "signature"])
def test_the_case_that_is_named_comes_first(kind: str) -> None:
    causes = fold(failures())
    first, second, *_ = causes[3].cases
    second = msgspec.structs.replace(second, signature="0123456789ab")
    causes = (*causes[:3], replace(causes[3], cases=(first, second, *causes[3].cases[2:])))
    found = find_named(causes, second.case if kind == "case" else "0123456789ab")

    assert found is not None
    assert found.shown == second
    assert found.id == causes[3].id
    assert sorted(each.case for each in found.cases) == sorted(c.case for c in causes[3].cases)


def test_a_cause_that_is_named_by_its_id_is_as_it_was() -> None:
    causes = fold(failures())

    assert find_named(causes, causes[1].id) == causes[1]
    assert find_named(causes, "nsq/no/such") is None


def test_a_weaker_level_stands_behind() -> None:
    causes = fold(reversed(list(failures())))

    assert [cause.level for cause in causes] == ["must", "must", "must", "should"]


def test_only_failures_are_causes() -> None:
    others = [
        case("a/b", "ext.publish.accept", "t", "ok", verdict) for verdict in ("pass", "known")
    ]

    assert fold(others) == ()


def test_another_first_difference_is_another_cause() -> None:
    records = [
        failed(
            f"publish/trace-response/{field}",
            "ext.publish.trace-response",
            "title",
            "trace:wrong",
            ["trace"],
            difference=DifferenceRecord(field, 0, "1", "2"),
        )
        for field in ("trace_id", "internal_id")
    ]

    assert len(fold(records)) == 2


def test_a_flaw_named_by_the_observation_folds_wherever_it_first_shows() -> None:
    records = [
        failed(
            f"publish/trace/{field}",
            "ext.publish.trace-response",
            "title",
            "trace:little-endian,open",
            ("trace,open",),
            difference=DifferenceRecord(field, 2, "1", "2"),
        )
        for field in ("internal_id", "trace_id")
    ]
    assert [len(cause.cases) for cause in fold(records)] == [2]


def test_a_named_fault_is_one_cause_in_all_clauses() -> None:
    records = [
        failed(f"a/{clause}", clause, "title", f"trace:little-endian{state}", ("trace,open",))
        for clause, state in (
            ("smart.trace.position", ""),
            ("ext.publish.trace-response", ",open"),
        )
    ]
    (cause,) = fold(records)
    assert cause.value == "trace:little-endian"
    assert len(cause.cases) == 2


@pytest.mark.parametrize(
    ("observation", "accepted", "expected"),
    [
        ("ok,open", ["error:*,open", "error:*,closed"], "ok"),
        ("ok,closed", ["error:*,open"], "ok"),
        ("error:E_BAD_BODY,broken", ["error:*,open", "error:*,closed"], "error:E_BAD_BODY,broken"),
        ("response:hello", ["ok"], "response:*"),
        ("trace:little-endian", ["trace"], "trace:little-endian"),
        ("silence", ["ok"], "silence"),
    ],
)
def test_value_class(observation: str, accepted: list[str], expected: str) -> None:
    assert value_class(observation, accepted) == expected


def test_an_ordinary_exchange_stands_for_the_cause() -> None:
    long, short = (
        list(failures())[-2],
        failed("a/b", "ext.parser.header-length", "t", "died", ["ok"]),
    )
    (cause,) = fold([long, short])

    assert cause.shown.case == "nsq/a/b"


def wrote(name: str, stderr: str, clause: str = "smart.client.survives") -> CaseRecord:
    data = stderr.encode()
    step = StepRecord(1, "stderr", "receive", data.hex(), length=len(data))
    record = failed(f"client-x/{name}", clause, "title", "ended:1", ["survives"])
    return msgspec.structs.replace(record, transcript=TranscriptRecord((step,)))


def test_each_exception_of_a_client_is_a_cause_of_its_own() -> None:
    trace = 'Traceback (most recent call last):\n  File "x.py", line {}\n'
    records = [
        wrote("one", trace.format(3) + "KeyError: 'id'\n"),
        wrote("two", trace.format(9) + "KeyError: 'id'\n", "smart.client.other"),
        wrote("three", trace.format(3) + "ValueError: not 12 bytes\n"),
        wrote("four", trace.format(3) + "ValueError: not 97 bytes\n"),
        wrote("five", "panic: index out of range [5]\n\ngoroutine 1 [running]:\nexit status 2\n"),
    ]

    assert {tuple(each.case for each in cause.cases) for cause in fold(records)} == {
        ("nsq/client-x/one", "nsq/client-x/two"),
        ("nsq/client-x/three", "nsq/client-x/four"),
        ("nsq/client-x/five",),
    }
    assert last_words(records[0].transcript)[-1] == "KeyError: 'id'"


def test_what_cannot_be_read_is_one_cause_wherever_the_reading_fails() -> None:
    records = [
        failed(
            f"x/{name}",
            clause,
            "title",
            "delivered:undecodable",
            ["delivered:as-sent"],
            difference=DifferenceRecord(field, 45, "at most 7", "11"),
        )
        for name, clause, field in (
            ("layout", "ext.consume.layout", "extend.length"),
            ("version", "ext.consume.version", "extend.version"),
            ("body/of-300", "ext.consume.body-intact", "message_id"),
        )
    ]
    (cause,) = fold([*records, failed("y", "ext.publish.accept", "title", "silence", ["ok"])])[:1]

    assert len(cause.cases) == 3
    assert cause.clause == "ext.consume.layout"


def test_the_plainest_case_stands_for_the_cause_with_its_own_clause() -> None:
    def named(case_id: str, clause: str, level: Level = "must") -> CaseRecord:
        record = failed(case_id, clause, "title", "trace:little-endian", ("trace",))
        return msgspec.structs.replace(record, level=level)

    third = named("publish/trace/zero/third-partition", "ext.publish.trace-response")
    plain = named("publish/trace/zero", "smart.trace.position")
    weaker = named("trace/zero", "smart.trace.other", "should")
    (cause,) = fold([third, weaker, plain])

    assert cause.shown == plain
    assert (cause.clause, cause.level) == (plain.clause, "must")


def test_a_cause_is_shown_by_the_clause_that_most_of_its_cases_break() -> None:
    """A flaw that the observation names shows in cases of many clauses."""
    rare = failed("order/position", "smart.order.position", "t", "trace:little-endian", ["trace"])
    usual = [
        failed(f"publish/{n}/a+b", "ext.publish.trace-response", "t", "trace:little-endian", ["x"])
        for n in range(2)
    ]

    (cause,) = fold([rare, *usual])

    assert len(cause.cases) == 3
    assert cause.clause == "ext.publish.trace-response"
