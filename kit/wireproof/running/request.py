"""What a user asks of ``wireproof run``, as the typed request that the runner takes."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypedDict, cast

from wireproof.options.config import Settings
from wireproof.options.target_choice import REFERENCE, NamedTarget
from wireproof.running.last_failed import has_last_failed, keep_last_failed
from wireproof_kit.errors import UsageFault
from wireproof_kit.protocols import read_target, target_keys
from wireproof_kit.runner.collect import collect
from wireproof_kit.runner.instance import Instance
from wireproof_kit.runner.request import (
    CLIENTS_AT_ONCE,
    RunOptions,
    RunRequest,
    check_seconds,
    read_claims,
    read_origins,
    read_topics,
)
from wireproof_kit.runner.run import LF, RunPlan
from wireproof_kit.targets.process import find_process
from wireproof_kit.targets.restart import restart_or_raise
from wireproof_kit.targets.target import ROLE, command_in, option_of
from wireproof_kit.version import KIT_VERSION
from wireproof_spec.clauses.catalogue import Level
from wireproof_spec.record import ReadingChoice

LAST_FAILED = Path("out/.last-failed.json")


class RunParameters(TypedDict):
    """The options of ``wireproof run``, by parameter name."""

    reference: bool
    profile: Level | None
    origin: str | None
    reading: str | None
    spec_rev: int | None
    expression: str | None
    exclude: tuple[str, ...]
    topic: tuple[str, ...]
    claim: tuple[str, ...]
    pid: int | None
    restart: str | None
    hazardous: bool
    timeout: float | None
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
    badge: Path | None
    allure: Path | None
    pcap: Path | None
    pcap_all: Path | None
    dry_run: bool
    is_plan: bool
    failures_only: bool


def collect_narrowed(
    given: RunParameters, *protocols: str, url: str | None = None
) -> tuple[Instance, ...]:
    """Return the cases of some or all protocols that remain after the options ``-k`` and ``--lf``.

    Raises:
        KitError: as `collect`.
    """
    instances = collect(*protocols, expression=given["expression"], url=url)
    if not instances and given["expression"]:
        raise UsageFault(f"-k {given['expression']!r} selects no case; see `wireproof list`")
    if not given["last_failed"]:
        return instances
    return keep_last_failed(LAST_FAILED, instances, collect(*protocols, url=url))


def narrowing_options(
    given: RunParameters, *protocols: str, url: str | None = None
) -> tuple[str, ...]:
    """Return the options ``-k`` and ``--lf`` as the user gave them, if they leave any case out."""
    known = collect(*protocols, url=url)
    if len(collect_narrowed(given, *protocols, url=url)) == len(known):
        return ()
    expression = (f"-k {given['expression']}",) if given["expression"] else ()
    is_by_failure = given["last_failed"] and has_last_failed(LAST_FAILED, known)
    return (*expression, *((LF,) if is_by_failure else ()))


def make_request(
    named: NamedTarget, given: RunParameters, settings: Settings, *, bundle: Path
) -> RunRequest:
    """Return the request for a run; options of the command line override the configuration.

    Raises:
        UsageFault: an option has an invalid value.
    """
    if named.url == REFERENCE and given["pid"] is not None:
        raise UsageFault("--pid: --reference starts a process of its own; leave --pid out")
    check_kit(settings)
    configured = _with_settings(given, settings)
    return RunRequest(
        plan=_plan(named, configured),
        engine=_engine_options(configured, at_once=_at_once(named)),
        maxfail=_maxfail(configured),
        baseline=configured["baseline"],
        bundle=bundle,
        allow_unstable=configured["allow_unstable"],
    )


def check_kit(settings: Settings) -> None:
    """Refuse to run if the configuration pins another version of the kit.

    Raises:
        UsageFault: see above.
    """
    pinned = settings.kit
    if pinned and not f"{KIT_VERSION}.".startswith(f"{pinned.rstrip('.')}."):
        raise UsageFault(
            f"[run] kit of the configuration expects wireproof {pinned}; this is {KIT_VERSION}. "
            "`wireproof judge LAST-BUNDLE --changes-only` shows which verdicts this version "
            f"changes; then install {pinned}, or set [run] kit to {KIT_VERSION}"
        )


def _with_settings(given: RunParameters, settings: Settings) -> RunParameters:
    whole = given.copy()
    whole["profile"] = given["profile"] or settings.profile
    whole["origin"] = given["origin"] or settings.origin
    whole["reading"] = given["reading"] or settings.reading
    pinned = None if settings.spec_rev is None else int(settings.spec_rev)
    whole["spec_rev"] = given["spec_rev"] or pinned
    if not given["baseline"] and settings.baseline:
        whole["baseline"] = Path(settings.baseline)
    said = {claim.partition("=")[0] for claim in given["claim"]}
    claims = (f"{name}={value}" for name, value in settings.claims.items() if name not in said)
    whole["claim"] = (*claims, *given["claim"])
    return whole


def _plan(named: NamedTarget, given: RunParameters) -> RunPlan:
    return RunPlan(
        url=named.url,
        protocol=named.protocol,
        keys=named.keys,
        selection=named.prefixes,
        exclude=given["exclude"],
        claims=read_claims(given["claim"]),
        topics=read_topics(given["topic"]),
        reading=cast(ReadingChoice, given["reading"] or "any"),
        profile=given["profile"] or "must",
        origins=read_origins(given["origin"]),
        spec_revision=given["spec_rev"],
        hazardous=given["hazardous"],
        timeout=check_seconds("--timeout", given["timeout"]),
        seed=given["seed"],
        command=shlex.join(_command(named, given)),
    )


def _at_once(named: NamedTarget) -> int:
    """Return how many cases run at once unless the user says it."""
    is_client = command_in(named.url) and read_target(named.url).is_client()
    return CLIENTS_AT_ONCE if is_client else RunOptions().waiters


def _engine_options(given: RunParameters, *, at_once: int) -> RunOptions:
    usual = RunOptions()
    limit = check_seconds("--case-timeout", given["case_timeout"])
    return RunOptions(
        repeats=given["repeat_failed"] or usual.repeats,
        waiters=given["waiters"] or at_once,
        case_timeout_s=limit or usual.case_timeout_s,
        restart=None if given["restart"] is None else restart_or_raise(given["restart"]),
        process=None if given["pid"] is None else find_process(given["pid"]),
    )


def _maxfail(given: RunParameters) -> int | None:
    return 1 if given["stop_at_first"] else given["maxfail"]


def _command(named: NamedTarget, given: RunParameters) -> Iterator[str]:
    """Return the words of the command that repeats the run."""
    yield "wireproof"
    yield from _target_named(named)
    yield from named.prefixes or ((named.protocol,) if named.protocol else ())
    yield from _each("--exclude", given["exclude"])
    yield from _target_words(named)
    yield from _each("--claim", given["claim"])
    yield from _each("--topic", given["topic"])
    yield from _value("--restart", given["restart"])
    yield from _flag("--hazardous", given=given["hazardous"])
    yield from _judgement_words(given)
    yield from _course_words(given)
    yield from _value("-k", given["expression"] or None)


def _target_named(named: NamedTarget) -> Iterator[str]:
    if named.url == REFERENCE:
        yield from ("run", f"--{REFERENCE}")
        return
    target = read_target(named.url)
    if target.command is None:
        yield from ("run", named.url)
    else:
        yield from ("client", "--protocol", target.protocol, "--exec", target.command)


def _target_words(named: NamedTarget) -> Iterator[str]:
    known = target_keys()
    for key, value in named.keys:
        if key == ROLE:
            yield from _value(option_of(key), value)
            continue
        if known[key].form == "flag":
            yield from _flag(option_of(key), given=value == "true")
        elif key == "control" and "@" in value:
            yield from _value(option_of(key), f"TOKEN@{value.rpartition('@')[2]}")
        else:
            yield from _value(option_of(key), value)


def _judgement_words(given: RunParameters) -> Iterator[str]:
    yield from _value("--profile", given["profile"])
    yield from _value("--origin", given["origin"])
    yield from _value("--reading", given["reading"])
    yield from _value("--spec-rev", given["spec_rev"])
    yield from _value("--baseline", given["baseline"])
    yield from _flag("--allow-unstable", given=given["allow_unstable"])


def _course_words(given: RunParameters) -> Iterator[str]:
    timeout = given["timeout"]
    yield from _value("--timeout", None if timeout is None else f"{timeout:g}")
    yield from _value("--case-timeout", given["case_timeout"])
    yield from _value("-n", given["waiters"])
    yield from _value("--repeat-failed", given["repeat_failed"])
    yield from _value("--seed", given["seed"])
    yield from _value("--maxfail", _maxfail(given))


def _value(name: str, value: object) -> Iterator[str]:
    if value is not None:
        yield from (name, str(value))


def _each(name: str, values: Sequence[str]) -> Iterator[str]:
    for value in values:
        yield from (name, value)


def _flag(name: str, *, given: bool) -> Iterator[str]:
    if given:
        yield name
