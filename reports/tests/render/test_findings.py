from pathlib import Path

import msgspec
import pytest
from bundle_fixture import failures, write_bundle

from wireproof_reports.bundle_file import Bundle, read_bundle
from wireproof_reports.causes import fold
from wireproof_reports.render.findings import MOST_SHOWN, cause_views, lacks, with_verdict


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    return read_bundle(write_bundle(tmp_path / "b.jsonl"))


def test_a_cause_has_all_that_is_needed_to_see_it_again(bundle: Bundle) -> None:
    first = cause_views(bundle, bundle.catalogue(), fold(bundle.cases))[0]

    assert (first.clause, first.level, first.size, first.counts) == (
        "ext.publish.trace-response",
        "must",
        3,
        True,
    )
    assert len(first.others) == 2
    assert first.reproducer.script.startswith("#!/usr/bin/env python3")
    assert first.difference is not None


def test_a_large_cause_lists_most_of_its_cases_by_id(tmp_path: Path) -> None:
    one = next(failures())
    cases = [msgspec.structs.replace(one, case=f"nsq/publish/x/{i}") for i in range(200)]
    bundle = read_bundle(write_bundle(tmp_path / "b.jsonl", cases))
    (cause,) = cause_views(bundle, bundle.catalogue(), fold(bundle.cases))

    assert len(cause.others) == MOST_SHOWN
    assert len(cause.others) + len(cause.listed) + 1 == 200


def test_unsupported_cases_stand_by_what_they_need(bundle: Bundle) -> None:
    (lack,) = lacks(bundle, bundle.catalogue())

    assert lack.capability == "upgrade"
    assert len(lack.cases) == 4
    assert lack.exchange is not None


def test_cases_by_verdict(bundle: Bundle) -> None:
    known = with_verdict(bundle, "known")

    assert [view.id for view in known] == [
        "nsq/publish/header-strict/duplicate",
        "nsq/publish/header-strict/nan",
    ]
