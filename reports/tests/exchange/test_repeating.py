"""By which command a case is shown again: a replay only where it needs no more than the bundle."""

import msgspec
import pytest
from bundle_fixture import failures

from wireproof.iggy.replay import LOGIN_CLAUSE
from wireproof.nsq.replay import NOT_REPLAYED
from wireproof_kit.runner.collect import collect
from wireproof_reports.exchange.repeating import way_again
from wireproof_reports.iggy.protocol import REPORTS as IGGY_REPORTS
from wireproof_reports.nsq.protocol import REPORTS
from wireproof_spec.record import TargetRecord
from wireproof_spec.step_record import StepRecord, TranscriptRecord

IGGY = IGGY_REPORTS.beyond_record
URL = "nsq://127.0.0.1:4150"


@pytest.mark.parametrize(
    ("url", "given", "kind", "way"),
    [
        (URL, (), "send", "replay"),
        (URL, ("data",), "request", "replay"),
        (URL, (), "receive", "run"),
        (URL, ("tls", "cacert"), "send", "run"),
        (URL, ("auth_env",), "send", "run"),
        (URL, ("http",), "send", "replay"),
        (URL, ("http",), "request", "run"),
        (f"{URL}?http=127.0.0.1:4151", ("http",), "request", "replay"),
        ("nsq://?lookupd=127.0.0.1:4161", ("lookupd",), "send", "run"),
        ("reference", ("http", "lookupd"), "request", "replay"),
    ],
)
def test_what_a_replay_would_refuse_is_run(
    url: str, given: tuple[str, ...], kind: str, way: str
) -> None:
    steps = (StepRecord(0, "A", "open"), StepRecord(1, "A", kind, hex="00"))
    case = msgspec.structs.replace(next(failures()), transcript=TranscriptRecord(steps))

    assert way_again(case, TargetRecord(url, "nsq", given=given)) == way


@pytest.mark.parametrize(
    ("target", "way"),
    [
        (TargetRecord(URL, "nsq", role="proxy"), "judge"),
        (TargetRecord("nsq+client:./consume", "nsq", role="client"), "client"),
        (TargetRecord("oms+exec:./adapter", "oms"), "run"),
        (TargetRecord("reference", "oms"), "run"),
    ],
)
def test_what_has_no_exchange_of_the_kit_is_not_replayed(target: TargetRecord, way: str) -> None:
    assert way_again(next(failures()), target) == way


def test_a_hazardous_case_is_run_with_the_option_that_allows_it() -> None:
    case = msgspec.structs.replace(next(failures()), hazard=True)

    assert way_again(case, TargetRecord(URL, "nsq")) == "hazardous"


def test_cases_that_replay_refuses_by_their_arguments_are_run() -> None:
    refused = {each.id for each in collect("nsq") if NOT_REPLAYED.keys() & set(each.arguments)}
    beyond = {each.id for each in collect("nsq") if each.id.startswith(REPORTS.beyond_record)}

    assert refused <= beyond
    # Their topics have the feature already.
    assert beyond - refused == {"nsq/upgrade/again", "nsq/upgrade/accept-everywhere"}


def test_cases_of_iggy_that_replay_refuses_are_run() -> None:
    refused = {each.id for each in collect("iggy") if each.clause.id == LOGIN_CLAUSE}

    assert refused
    assert refused == {each.id for each in collect("iggy") if each.id.startswith(IGGY)}
