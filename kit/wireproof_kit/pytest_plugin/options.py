"""The plug-in's options, and the request for a run that they make."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from wireproof_kit.errors import UsageFault
from wireproof_kit.protocols import target_keys
from wireproof_kit.runner.request import (
    RunOptions,
    RunRequest,
    check_seconds,
    read_claims,
    read_origins,
    read_topics,
)
from wireproof_kit.runner.run import RunPlan
from wireproof_kit.targets.process import find_process
from wireproof_kit.targets.restart import restart_or_raise
from wireproof_kit.targets.target import TargetKey, option_of
from wireproof_spec.clauses.catalogue import Level
from wireproof_spec.record import ReadingChoice

_LEVELS = ("must", "should", "may", "observed")
_READINGS = ("any", "published", "deployed")


def add_options(parser: pytest.Parser) -> None:
    """Add the options of a run to pytest; their values are checked when the run opens."""
    group = parser.getgroup("wireproof", "conformance of message brokers")
    group.addoption("--broker-url", metavar="URL", help="the broker to judge, or `reference`")
    group.addoption("--profile", choices=_LEVELS, default="must", help="levels that count")
    group.addoption("--reading", choices=_READINGS, default="any", help="readings that count")
    for name, text in _REPEATABLE.items():
        group.addoption(name, action="append", default=[], help=text)
    for name, text in _SINGLE.items():
        group.addoption(name, default=None, help=text)
    for name, text in _FLAGS.items():
        group.addoption(name, action="store_true", default=False, help=text)
    for key, known in target_keys().items():
        _add_key(group, option_of(key), known)


def _add_key(group: pytest.OptionGroup, option: str, known: TargetKey) -> None:
    if known.form == "servers":
        group.addoption(option, action="append", default=[], help=known.help)
    elif known.form == "flag":
        group.addoption(option, action="store_true", default=False, help=known.help)
    else:
        group.addoption(option, default=None, help=known.help)


_REPEATABLE = {
    "--wireproof-select": "prefix of case or clause ids to run",
    "--wireproof-exclude": "prefix of case or clause ids to leave out",
    "--topic": "KIND=NAME: use this topic instead of creating one",
    "--claim": "NAME=true|false|probe: what the target claims",
}
_SINGLE = {
    "--pid": "process of the broker, whose end is a crash",
    "--restart": "command that brings a dead target back",
    "--timeout-seconds": "patience for every wait instead of the measured one",
    "--case-timeout": "seconds after which a case is given up",
    "--waiters": "how many cases may wait at once",
    "--repeat-failed": "how often a failing case is run in all; with 1 a failure seen once counts",
    "--seed": "seed of names and bodies",
    "--origin": "origins whose musts count: text,base,premise or some of them",
    "--spec-rev": "only clauses known at that revision",
    "--baseline": "deviations file",
    "--bundle": "file the run's bundle is written to",
    "--reference-protocol": "whose embedded reference; else by the cases asked for",
    "--reference-option": "options for the embedded reference, in one string",
}
_FLAGS = {
    "--hazardous": "allow inputs known to kill brokers off loopback too",
    "--allow-unstable": "undecided and unstable cases do not count against the run",
}


def broker_url(config: pytest.Config) -> str | None:
    """Return the target's URL, ``reference``, or None when no target was named."""
    return _one(config, "--broker-url")


def narrowing_options(config: pytest.Config) -> tuple[str, ...]:
    """Return the options of pytest itself that can leave out cases, as the user gave them."""
    given = (
        (option, config.getoption(name))
        for option, name in (("-k", "keyword"), ("-m", "markexpr"))
    )
    return tuple(f"{option} {value}" for option, value in given if value)


def make_request(config: pytest.Config) -> RunRequest:
    """Return the run that pytest's options ask for.

    Raises:
        UsageFault: a value is not of its option's form.
    """
    return RunRequest(
        plan=_plan(config),
        engine=_engine_options(config),
        baseline=_path(config, "--baseline"),
        bundle=_path(config, "--bundle"),
        allow_unstable=bool(config.getoption("--allow-unstable")),
    )


def _plan(config: pytest.Config) -> RunPlan:
    return RunPlan(
        url=broker_url(config) or "",
        protocol=_one(config, "--reference-protocol"),
        keys=tuple(_keys(config)),
        selection=_many(config, "--wireproof-select"),
        exclude=_many(config, "--wireproof-exclude"),
        claims=read_claims(_many(config, "--claim")),
        topics=read_topics(_many(config, "--topic")),
        reading=cast(ReadingChoice, config.getoption("--reading")),
        profile=cast(Level, config.getoption("--profile")),
        origins=read_origins(_one(config, "--origin")),
        spec_revision=_read_whole_number(config, "--spec-rev"),
        hazardous=bool(config.getoption("--hazardous")),
        timeout=_seconds(config, "--timeout-seconds"),
        seed=_read_whole_number(config, "--seed"),
        command=_quote_command_line(config),
        reference_options=tuple(shlex.split(_one(config, "--reference-option") or "")),
    )


def _engine_options(config: pytest.Config) -> RunOptions:
    usual = RunOptions()
    command, pid = _one(config, "--restart"), _read_whole_number(config, "--pid")
    return RunOptions(
        repeats=_read_whole_number(config, "--repeat-failed") or usual.repeats,
        waiters=_read_whole_number(config, "--waiters") or usual.waiters,
        case_timeout_s=_seconds(config, "--case-timeout") or usual.case_timeout_s,
        restart=restart_or_raise(command) if command else None,
        process=None if pid is None else find_process(pid),
    )


def _path(config: pytest.Config, option: str) -> Path | None:
    name = _one(config, option)
    return Path(name) if name else None


def _quote_command_line(config: pytest.Config) -> str:
    """Return the command line by which pytest itself was called."""
    return shlex.join(["pytest", *(str(word) for word in config.invocation_params.args)])


def _keys(config: pytest.Config) -> Iterator[tuple[str, str]]:
    for key, known in target_keys().items():
        option = option_of(key)
        if known.form == "servers":
            yield from ((key, value) for value in _many(config, option))
        elif known.form == "flag":
            yield from [(key, "true")] if config.getoption(option) else []
        else:
            yield from ((key, value) for value in [_one(config, option)] if value is not None)


def _many(config: pytest.Config, option: str) -> tuple[str, ...]:
    return tuple(cast(list[str], config.getoption(option)))


def _one(config: pytest.Config, option: str) -> str | None:
    return cast(str | None, config.getoption(option))


def _read_whole_number(config: pytest.Config, option: str) -> int | None:
    text = _one(config, option)
    if text is None:
        return None
    if not text.isascii() or not text.isdigit():
        raise UsageFault(f"{option} {text!r}: expected a whole number")
    return int(text)


def _seconds(config: pytest.Config, option: str) -> float | None:
    text = _one(config, option)
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError as error:
        raise UsageFault(f"{option} {text!r}: expected seconds, e.g. 2.5") from error
    return check_seconds(option, value)
