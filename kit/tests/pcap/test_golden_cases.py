"""Every recorded exchange with an nsqlookupd is repeated by a case, or it is said why not."""

import tomllib
from collections import Counter
from functools import cache

import msgspec
from check_each import check_each

from wireproof_kit.runner.collect import collect
from wireproof_spec.clauses.catalogue import is_below
from wireproof_spec.nsq import golden

MOST_LEFT_OUT = 40


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    scenario: str
    cases: tuple[str, ...] = ()
    why: str = ""


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    row: tuple[Row, ...]


def table() -> tuple[Row, ...]:
    text = (golden.folder() / "nsqlookupd-cases.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), Table).row


@cache
def case_ids() -> tuple[str, ...]:
    return tuple(instance.id for instance in collect("nsq"))


def test_each_recorded_row_stands_in_the_table_once() -> None:
    recorded = Counter(exchange.name for exchange in golden.nsqlookupd_http())

    assert Counter(row.scenario for row in table()) == recorded


@check_each(table(), lambda row: row.scenario)
def test_a_row_has_cases_that_exist_or_a_reason(row: Row) -> None:
    assert bool(row.cases) != bool(row.why)
    for name in row.cases:
        assert any(is_below(case_id, name) for case_id in case_ids()), name


def test_few_rows_of_the_redesigned_server_are_left_out() -> None:
    left_out = [row.scenario for row in table() if row.why]

    assert len(left_out) <= MOST_LEFT_OUT
    assert sum(not scenario.startswith("nsqio/") for scenario in left_out) <= 10
