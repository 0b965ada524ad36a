"""The interface for programs: judge a target, judge a bundle again, compare, and load.

Errors of the user's and of the target's are `wireproof_kit.errors.KitError`: one sentence each.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast, get_args

from wireproof.commands.bundles.judge import Terms, judge_again
from wireproof_kit.bundle.file import Bundle, read_bundle
from wireproof_kit.errors import UsageFault
from wireproof_kit.protocols import read_target
from wireproof_kit.runner.collect import collect
from wireproof_kit.runner.request import RunOptions, RunRequest, check_seconds
from wireproof_kit.runner.run import REFERENCE, RunPlan, reference_of
from wireproof_kit.runner.run_cases import run_cases
from wireproof_kit.targets.restart import restart_or_raise
from wireproof_kit.verdicts.diff import Comparison, compare
from wireproof_reports.causes import Cause, fold
from wireproof_spec.clauses.catalogue import LEVELS, Level
from wireproof_spec.clauses.origin import BINDING, Binding
from wireproof_spec.record import (
    CaseRecord,
    FooterRecord,
    HeaderRecord,
    ReadingChoice,
    WayRecord,
    list_broken,
)

REPEATS = RunOptions().repeats
OnCase = Callable[[CaseRecord], None]


@dataclass(frozen=True, slots=True)
class Run:
    """A judged run: the records of its bundle, and what follows from them.

    ``footer`` is None if the run was ended before its bundle was closed. ``path`` is the bundle's
    file, None if none was written. ``left_behind`` names what the run made on the target and could
    not delete; a bundle does not have it.
    """

    header: HeaderRecord
    records: tuple[CaseRecord, ...]
    footer: FooterRecord | None
    path: Path | None = None
    ways: tuple[WayRecord, ...] = ()
    left_behind: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """The exit code: 0 no failure, 1 failures, 2 not judged, 3 undecided, 130 interrupted."""
        return 130 if self.footer is None else self.footer.exit

    @property
    def statement(self) -> str:
        """The result in words, such as ``NOT CONFORMANT``; empty if the run was not closed."""
        return "" if self.footer is None else self.footer.statement

    @property
    def causes(self) -> tuple[Cause, ...]:
        """The failures, folded by root cause; the strictest first."""
        return fold([*self.records, *list_broken(self.ways)], self.header)


@dataclass(frozen=True, slots=True)
class _Told:
    """Passes each judged case to the caller."""

    on_case: OnCase

    def begin(self, header: HeaderRecord, *, selected: int) -> None:
        """Do nothing: the caller gets the header with the run."""

    def case(self, record: CaseRecord) -> None:
        """Pass a judged case on."""
        self.on_case(record)


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `run`: each does what an option of ``wireproof run`` does.

    Most have the name of that option. ``origins`` is ``--origin``, ``spec_revision`` is
    ``--spec-rev``, ``claims`` and ``topics`` are ``--claim`` and ``--topic``, ``keys`` is
    ``--http``, ``--data`` and all others that say more of the target.

    ``keys`` are target keys, such as ``{"http": "127.0.0.1:4151"}``; a key with several values has
    a sequence. ``timeout`` is in seconds and replaces measured patience. ``restart`` is a command.
    """

    exclude: Sequence[str] = ()
    keys: Mapping[str, str | Sequence[str]] = field(default_factory=dict[str, str])
    claims: Mapping[str, bool] = field(default_factory=dict[str, bool])
    topics: Mapping[str, str] = field(default_factory=dict[str, str])
    profile: Level = "must"
    origins: Sequence[Binding] = BINDING
    reading: ReadingChoice = "any"
    spec_revision: int | None = None
    baseline: Path | str | None = None
    bundle: Path | str | None = None
    hazardous: bool = False
    restart: str | None = None
    timeout: float | None = None
    seed: int | None = None
    maxfail: int | None = None
    repeat_failed: int = REPEATS
    allow_unstable: bool = False


def run(
    target: str, *ids: str, options: Options | None = None, on_case: OnCase | None = None
) -> Run:
    """Judge a target and return the result.

    ``target`` is a URL, or ``reference`` for the embedded reference of the protocol whose cases
    are selected. ``ids`` are prefixes of case or clause ids. ``on_case`` is called with each case
    as it is judged, in the thread of the caller.

    Raises:
        KitError: the target cannot be judged as asked; the text is a sentence.
        KeyboardInterrupt: interrupted before the first case.
    """
    asked = options or Options()
    _check_ids(ids)
    _check(asked)
    plan = _plan(target, ids, asked)
    if target == REFERENCE:
        protocol = reference_of(plan, collect())
        plan = replace(plan, protocol=protocol)
    else:
        protocol = read_target(target).protocol
    request = RunRequest(
        plan=plan,
        engine=RunOptions(
            repeats=asked.repeat_failed,
            restart=None if asked.restart is None else restart_or_raise(asked.restart),
        ),
        maxfail=asked.maxfail,
        baseline=_path(asked.baseline),
        bundle=_path(asked.bundle),
        allow_unstable=asked.allow_unstable,
    )
    told = [] if on_case is None else [_Told(on_case)]
    done = run_cases(request, collect(protocol, url=target), told, is_stopped=lambda: False)
    return Run(done.header, done.cases, done.footer, request.bundle, done.ways, done.left_behind)


def judge(
    bundle: Path | str | Run,
    *,
    profile: Level | None = None,
    origins: Sequence[Binding] | None = None,
    reading: ReadingChoice | None = None,
    spec_revision: int | None = None,
    baseline: Path | str | None = None,
    allow_unstable: bool = False,
) -> Run:
    """Judge a bundle again with the law of this version, without a target.

    What is not given applies as it did in the run.

    Raises:
        KitError: the file is no bundle that can be judged, or the deviations file is wrong.
    """
    _check_choices(profile, origins, reading)
    terms = Terms(
        profile,
        None if origins is None else tuple(origins),
        reading,
        spec_revision,
        _path(baseline),
        allow_unstable,
    )
    result = judge_again(_bundle(bundle), terms)
    return Run(
        result.header, tuple(result.records), result.footer, result.bundle, tuple(result.ways)
    )


def diff(before: Path | str | Run, after: Path | str | Run) -> Comparison:
    """Compare two runs, the earlier one first; see `Comparison.of` for one class of changes.

    Raises:
        KitError: a file is no bundle.
    """
    return compare(_bundle(before), _bundle(after))


def load(bundle: Path | str) -> Run:
    """Read a bundle, with the verdicts that it was written with.

    Raises:
        KitError: the file is missing, damaged, too large, no bundle, or of a newer format.
    """
    read = read_bundle(Path(bundle))
    return Run(read.header, read.cases, read.footer, read.path, read.ways)


def _plan(target: str, ids: Sequence[str], asked: Options) -> RunPlan:
    return RunPlan(
        url=target,
        keys=tuple(
            (key, each)
            for key, value in asked.keys.items()
            for each in ([value] if isinstance(value, str) else value)
        ),
        selection=tuple(ids),
        exclude=tuple(asked.exclude),
        claims=asked.claims,
        topics=asked.topics,
        reading=asked.reading,
        profile=asked.profile,
        origins=tuple(asked.origins),
        spec_revision=asked.spec_revision,
        hazardous=asked.hazardous,
        timeout=asked.timeout,
        seed=asked.seed,
    )


def _check(asked: Options) -> None:
    """Check what the type checker of a caller would refuse, for callers without one.

    Raises:
        UsageFault: an option has a value that it cannot have.
    """
    _check_choices(asked.profile, asked.origins, asked.reading)
    if isinstance(asked.exclude, str):
        raise UsageFault(f"exclude: expected a sequence of ids; found the text {asked.exclude!r}")
    _check_keys(asked.keys)
    check_seconds("timeout", asked.timeout)
    for name, least in (("seed", 0), ("maxfail", 1), ("repeat_failed", 1), ("spec_revision", 1)):
        value: object = getattr(asked, name)
        if value is not None and (not isinstance(value, int) or value < least):
            raise UsageFault(f"{name}: expected a whole number from {least}; found {value!r}")
    for name, value in asked.claims.items():
        if not isinstance(value, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UsageFault(f"claims: {name} expected True or False; found {value!r}")


def _check_ids(ids: Sequence[object]) -> None:
    """Check that each id is a text: a list of ids is given as ``*ids``.

    Raises:
        UsageFault: one is not.
    """
    for each in ids:
        if not isinstance(each, str):
            raise UsageFault(f"ids: expected texts, as in run(URL, *ids); found {each!r}")


def _check_keys(keys: Mapping[str, object]) -> None:
    """Check that each value of a target key is a text or a sequence of texts.

    Raises:
        UsageFault: one is not.
    """
    for name, value in keys.items():
        is_text = isinstance(value, str)
        values = cast(Sequence[object], value) if isinstance(value, list | tuple) else [value]
        if not is_text and not all(isinstance(each, str) for each in values):
            raise UsageFault(f"keys: {name} expected a text such as 'HOST:PORT'; found {value!r}")


def _check_choices(
    profile: Level | None, origins: Sequence[Binding] | None, reading: ReadingChoice | None
) -> None:
    _one_of("profile", profile, LEVELS)
    _one_of("reading", reading, get_args(ReadingChoice))
    if isinstance(origins, str):
        raise UsageFault(f"origins: expected a sequence such as ('text',); found {origins!r}")
    for origin in origins or ():
        _one_of("origins", origin, BINDING)


def _one_of(name: str, value: str | None, choices: Sequence[str]) -> None:
    if value is not None and value not in choices:
        raise UsageFault(f"{name}: expected one of {', '.join(choices)}; found {value!r}")


def _path(given: Path | str | None) -> Path | None:
    return None if given is None else Path(given)


def _bundle(given: Path | str | Run) -> Bundle:
    if not isinstance(given, Run):
        return read_bundle(Path(given))
    return Bundle(given.path or Path(), given.header, given.records, given.footer, ways=given.ways)
