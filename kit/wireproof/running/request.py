"""What a user asks of a run, as options of the pytest plug-in."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypedDict

from wireproof.options.config import Settings
from wireproof.options.target_choice import Named
from wireproof.running.command_line import command_line
from wireproof_kit.protocols import target_keys
from wireproof_kit.targets.target import option_of


class RunOptions(TypedDict):
    """The options of ``wireproof run``, by the names of its parameters."""

    reference: bool
    profile: str | None
    reading: str | None
    spec_rev: int | None
    expression: str | None
    exclude: tuple[str, ...]
    topic: tuple[str, ...]
    claim: tuple[str, ...]
    restart: str | None
    hazardous: bool
    timeout: str | None
    case_timeout: float | None
    waiters: int | None
    stop_at_first: bool
    maxfail: int | None
    last_failed: bool
    repeat_failed: int | None
    seed: int | None
    baseline: Path | None
    bundle: Path | None
    allow_unstable: bool
    html: Path | None
    junit: Path | None
    allure: Path | None
    pcap: Path | None
    pcap_all: Path | None
    dry_run: bool


def plugin_options(
    named: Named, options: RunOptions, settings: Settings, *, bundle: Path
) -> list[str]:
    """Return the plug-in's and pytest's options for a run."""
    given = _given(named, options, settings)
    return [*given, *_pair("--bundle", bundle), *_pair("--wireproof-command", command_line(given))]


def _given(named: Named, options: RunOptions, settings: Settings) -> list[str]:
    return [
        *_pair("--broker-url", named.url),
        *_pair("--reference-protocol", named.protocol),
        *_each("--wireproof-select", named.prefixes),
        *_each("--wireproof-exclude", options["exclude"]),
        *_target(named, options, settings),
        *_judgement(options, settings),
        *_course(options),
        *narrowing(options),
    ]


def narrowing(options: RunOptions) -> list[str]:
    """Return the options by which pytest itself narrows a collection."""
    failed = ["--lf"] if options["last_failed"] else []
    chosen = ["-k", options["expression"]] if options["expression"] else []
    return [*chosen, *failed]


def _target(named: Named, options: RunOptions, settings: Settings) -> Iterator[str]:
    known = target_keys()
    for key, value in named.keys:
        if known[key].form == "flag":
            yield from _flag(option_of(key), given=value == "true")
        else:
            yield from _pair(option_of(key), value)
    said = {claim.partition("=")[0] for claim in options["claim"]}
    claims = [f"{name}={value}" for name, value in settings.claims.items() if name not in said]
    yield from _each("--claim", [*claims, *options["claim"]])
    yield from _each("--topic", options["topic"])
    yield from _pair("--restart", options["restart"])
    yield from _flag("--hazardous", given=options["hazardous"])


def _judgement(options: RunOptions, settings: Settings) -> Iterator[str]:
    yield from _pair("--profile", options["profile"] or settings.profile)
    yield from _pair("--reading", options["reading"] or settings.reading)
    yield from _pair("--spec-rev", options["spec_rev"])
    yield from _pair("--baseline", options["baseline"] or settings.baseline)
    yield from _flag("--allow-unstable", given=options["allow_unstable"])


def _course(options: RunOptions) -> Iterator[str]:
    timeout = options["timeout"]
    yield from _pair("--timeout-seconds", None if timeout == "auto" else timeout)
    yield from _pair("--case-timeout", options["case_timeout"])
    yield from _pair("--waiters", options["waiters"])
    yield from _pair("--repeat-failed", options["repeat_failed"])
    yield from _pair("--seed", options["seed"])
    yield from _pair("--maxfail", 1 if options["stop_at_first"] else options["maxfail"])


def _pair(name: str, value: object) -> list[str]:
    # One word, so that a value that begins with a hyphen stays a value.
    return [] if value is None else [f"{name}={value}"]


def _each(name: str, values: Sequence[str]) -> Iterator[str]:
    for value in values:
        yield from _pair(name, value)


def _flag(name: str, *, given: bool) -> list[str]:
    return [name] if given else []
