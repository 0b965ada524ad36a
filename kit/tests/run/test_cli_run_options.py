"""How options and configuration of `wireproof run` reach the plug-in."""

import sys
from pathlib import Path

from wireproof.options.config import Settings
from wireproof.options.run_options import run_options
from wireproof.options.target_choice import Named, named_target
from wireproof.running.request import RunOptions, plugin_options

SMALL = "nsq/publish/header-json"
COMMAND = (sys.executable, "-m", "wireproof")


def options(**changes: object) -> RunOptions:
    """Return what click gives when nothing was said, with changes."""
    nothing: dict[str, object] = {}
    for option in run_options():
        assert option.name is not None
        nothing[option.name] = () if option.multiple else False if option.is_flag else None
    return RunOptions(**{**nothing, **changes})  # type: ignore[typeddict-item]


def test_nothing_said_means_nothing_passed_on() -> None:
    passed = plugin_options(Named("nsq://a:1"), options(), Settings(), bundle=Path("b"))

    command = "--wireproof-command=wireproof run nsq://a:1"
    assert passed == ["--broker-url=nsq://a:1", "--bundle=b", command]


def test_every_option_reaches_the_plug_in() -> None:
    said = options(
        profile="may",
        reading="deployed",
        spec_rev=3,
        expression="x or y",
        exclude=("e",),
        topic=("ext=t",),
        claim=("ext=true",),
        restart="cmd",
        hazardous=True,
        timeout="2.5",
        case_timeout=9.0,
        waiters=4,
        maxfail=2,
        last_failed=True,
        repeat_failed=3,
        seed=0,
        baseline=Path("d.toml"),
        allow_unstable=True,
    )
    named = Named("nsq://a:1", ("ext", "nsq/http"), (("http", "a:2"), ("lookupd", "l:1")))

    passed = plugin_options(named, said, Settings(), bundle=Path("b"))

    assert set(passed) == {
        "--broker-url=nsq://a:1",
        "--bundle=b",
        "--wireproof-select=ext",
        "--wireproof-select=nsq/http",
        "--wireproof-exclude=e",
        "--http=a:2",
        "--lookupd=l:1",
        "--claim=ext=true",
        "--topic=ext=t",
        "--restart=cmd",
        "--hazardous",
        "--profile=may",
        "--reading=deployed",
        "--spec-rev=3",
        "--baseline=d.toml",
        "--allow-unstable",
        "--timeout-seconds=2.5",
        "--case-timeout=9.0",
        "--waiters=4",
        "--repeat-failed=3",
        "--seed=0",
        "--maxfail=2",
        "-k",
        "x or y",
        "--lf",
        "--wireproof-command=wireproof run nsq://a:1 ext nsq/http --exclude e --http a:2 "
        "--lookupd l:1 --claim ext=true --topic ext=t --restart cmd --hazardous --profile may "
        "--reading deployed --spec-rev 3 --baseline d.toml --allow-unstable --timeout 2.5 "
        "--case-timeout 9.0 -n 4 --repeat-failed 3 --seed 0 --maxfail 2 -k 'x or y'",
    }


def test_options_stand_above_the_configuration() -> None:
    settings = Settings(
        profile="should", reading="published", claims={"ext": "true", "tls": "false"}
    )

    passed = plugin_options(
        Named("nsq://a:1"),
        options(profile="may", claim=("tls=probe",), stop_at_first=True, timeout="auto"),
        settings,
        bundle=Path("b"),
    )

    assert "--profile=may" in passed
    assert "--reading=published" in passed
    assert {"--claim=ext=true", "--claim=tls=probe"} <= set(passed)
    assert "--maxfail=1" in passed
    assert not any(item.startswith("--timeout") for item in passed)


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
