"""How options and configuration of `wireproof run` become the request of a run."""

import os
from pathlib import Path

import pytest

from wireproof.options.config import Settings
from wireproof.options.run_options import run_options
from wireproof.options.target_choice import NamedTarget, named_target
from wireproof.running.request import RunParameters, make_request
from wireproof_kit.errors import UsageFault
from wireproof_kit.runner.request import CLIENTS_AT_ONCE, RunOptions, RunRequest
from wireproof_kit.runner.run import RunPlan


def options(**changes: object) -> RunParameters:
    """Return what click gives when nothing was said, with changes."""
    nothing: dict[str, object] = {}
    for option in run_options():
        assert option.name is not None
        nothing[option.name] = () if option.multiple else False if option.is_flag else None
    return RunParameters(**{**nothing, **changes})  # type: ignore[typeddict-item]


def request(named: NamedTarget, settings: Settings | None = None, **changes: object) -> RunRequest:
    return make_request(named, options(**changes), settings or Settings(), bundle=Path("b"))


def test_nothing_said_means_what_is_usual() -> None:
    command = "wireproof run nsq://a:1"

    assert request(NamedTarget("nsq://a:1")) == RunRequest(
        RunPlan("nsq://a:1", command=command), bundle=Path("b")
    )


def test_clients_run_few_cases_at_once_and_the_recorded_command_does_not_say_so() -> None:
    made = request(NamedTarget("nsq+client:x", keys=(("role", "consumer"),)))

    assert made.engine.waiters == CLIENTS_AT_ONCE
    assert made.plan.command == "wireproof client --protocol nsq --exec x --role consumer"


def test_every_option_reaches_the_request() -> None:
    named = NamedTarget("nsq://a:1", ("ext", "nsq/http"), (("http", "a:2"), ("lookupd", "l:1")))

    made = request(
        named,
        profile="may",
        origin="premise,text",
        reading="deployed",
        spec_rev=3,
        expression="x or y",
        exclude=("e",),
        topic=("ext=t",),
        claim=("ext=true",),
        hazardous=True,
        timeout=2.5,
        case_timeout=9.0,
        waiters=4,
        maxfail=2,
        last_failed=True,
        repeat_failed=3,
        seed=0,
        baseline=Path("d.toml"),
        allow_unstable=True,
    )

    plan = RunPlan(
        url="nsq://a:1",
        keys=named.keys,
        selection=("ext", "nsq/http"),
        exclude=("e",),
        claims={"ext": True},
        topics={"ext": "t"},
        reading="deployed",
        profile="may",
        origins=("text", "premise"),
        spec_revision=3,
        hazardous=True,
        timeout=2.5,
        seed=0,
        command="wireproof run nsq://a:1 ext nsq/http --exclude e --http a:2 --lookupd l:1 "
        "--claim ext=true --topic ext=t --hazardous --profile may --origin premise,text "
        "--reading deployed --spec-rev 3 --baseline d.toml --allow-unstable --timeout 2.5 "
        "--case-timeout 9.0 -n 4 --repeat-failed 3 --seed 0 --maxfail 2 -k 'x or y'",
    )
    engine = RunOptions(repeats=3, waiters=4, case_timeout_s=9.0)
    assert made == RunRequest(plan, engine, 2, Path("d.toml"), Path("b"), allow_unstable=True)


@pytest.mark.process
def test_a_restart_command_is_run_and_repeated() -> None:
    made = request(NamedTarget("nsq://a:1"), restart="true")

    assert made.engine.restart is not None
    assert made.engine.restart()
    assert made.plan.command == "wireproof run nsq://a:1 --restart true"


def test_the_process_of_the_broker_reaches_the_engine() -> None:
    made = request(NamedTarget("nsq://a:1"), pid=os.getpid())

    assert made.engine.process is not None
    assert (made.engine.process.pid, made.engine.process.has_ended()) == (os.getpid(), False)


@pytest.mark.parametrize(
    ("url", "pid", "sentence"),
    [
        ("nsq://a:1", 2**22 + 1, "--pid 4194305: expected a process of this machine"),
        ("reference", 1, "--reference starts a process of its own"),
    ],
)
def test_a_process_that_cannot_be_watched_is_refused(url: str, pid: int, sentence: str) -> None:
    with pytest.raises(UsageFault, match=sentence):
        request(NamedTarget(url, protocol="nsq"), pid=pid)


def test_the_reference_of_a_protocol_is_named_by_its_cases() -> None:
    of_all = request(NamedTarget("reference", protocol="iggy")).plan
    of_one = request(NamedTarget("reference", ("iggy/message",), protocol="iggy")).plan

    assert of_all.command == "wireproof run --reference iggy"
    assert of_one.command == "wireproof run --reference iggy/message"


def test_options_stand_above_the_configuration() -> None:
    settings = Settings(
        profile="should",
        reading="published",
        baseline="d.toml",
        claims={"ext": "true", "tls": "false"},
    )

    made = request(
        NamedTarget("nsq://a:1"), settings, profile="may", claim=("tls=probe",), stop_at_first=True
    )

    assert (made.plan.profile, made.plan.reading) == ("may", "published")
    assert made.plan.claims == {"ext": True}
    assert (made.maxfail, made.baseline) == (1, Path("d.toml"))
    assert "--claim ext=true --claim tls=probe" in made.plan.command


@pytest.mark.parametrize("option", ["timeout", "case_timeout"])
def test_a_wait_is_shorter_than_a_day(option: str) -> None:
    with pytest.raises(UsageFault, match="more than 0 and less than 86400 seconds"):
        request(NamedTarget("nsq://a:1"), Settings(), **{option: 86400.0})


def test_keys_of_a_configured_target_hold_for_that_target_alone() -> None:
    keys = (("http", "a:2"), ("lookupd", "l:1"), ("data", "/d"))
    settings = Settings(url="nsq://a:1", keys=keys, reset="r")

    same = named_target([], settings, given=(("lookupd", "m:1"),))
    other = named_target(["nsq://b:1", "ext/"], settings)
    reference = named_target([], settings, reference=True)

    assert same.keys == (("http", "a:2"), ("lookupd", "m:1"), ("data", "/d"))
    assert same.reset == "r"
    assert (other.keys, other.reset, other.prefixes) == ((), None, ("ext",))
    assert (reference.url, reference.keys) == ("reference", ())
