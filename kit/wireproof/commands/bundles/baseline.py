"""``wireproof baseline``: the file of known deviations."""

import json
import sys
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from functools import partial
from pathlib import Path

import click
import msgspec

from wireproof.options.confirmation import confirm_found
from wireproof.options.global_options import manner
from wireproof.options.lazy_group import Command, Group
from wireproof.options.target_choice import settings_for
from wireproof.view.output import echo
from wireproof_kit.bundle.file import Bundle, read_bundle
from wireproof_kit.decoding.printable import clip, printable
from wireproof_kit.errors import UsageFault
from wireproof_kit.fuzz.oracle.rules import MEANINGS
from wireproof_kit.runner.collect import collect
from wireproof_kit.runner.instance import known_ids
from wireproof_kit.verdicts.deviations import (
    FUZZ,
    Deviation,
    absence,
    apply,
    mark_finding,
    name_finding,
    parse_deviations,
    read_deviations,
    read_deviations_text,
    to_toml,
    utc_date,
)
from wireproof_kit.verdicts.judge import UNSURE
from wireproof_reports.causes import Cause, fold
from wireproof_reports.wording import count_noun
from wireproof_spec.clauses.spoken import spoken
from wireproof_spec.fuzz_record import FindingRecord
from wireproof_spec.record import list_counted

LASTS = timedelta(days=180)
LONGEST_COMMENT = 110
LISTED = 20
"""How many further cases the comment on an entry names."""

_FILE = click.Path(path_type=Path)
_bundle = click.option(
    "--bundle",
    type=_FILE,
    metavar="FILE",
    help="Bundle of the run that shows which cases fail and pass.",
)
_file = click.argument("file", required=False, type=_FILE)

GROUP_EXAMPLES = (
    (
        "wireproof baseline update deviations.toml --bundle out/run.jsonl",
        "add the root causes of this run's failures",
    ),
    (
        "wireproof baseline update deviations.toml --bundle out/run-fuzz.jsonl",
        "add the findings of a fuzz campaign",
    ),
    (
        "wireproof baseline prune deviations.toml --bundle out/run.jsonl",
        "remove entries whose cases pass in this run",
    ),
    (
        "wireproof baseline check deviations.toml",
        "check the file, and whether an entry has expired",
    ),
)


@click.group("baseline", cls=Group, examples=GROUP_EXAMPLES)
def baseline() -> None:
    """Maintain the file of known deviations: failures with a reason and an expiry date.

    FILE may be omitted if the configuration names it ([run] baseline).
    """


@baseline.command("update", cls=Command, examples=GROUP_EXAMPLES[:2])
@_file
@_bundle
@click.option("--reason", metavar="TEXT", help="Why it fails; without it the terminal prompts.")
@click.option("--link", default="", metavar="URL", help="Link to the discussion.")
@click.option(
    "--expires",
    type=click.DateTime(("%Y-%m-%d",)),
    metavar="DATE",
    help="Last valid day; default in 180 days, at most in 12 months.",
)
def update(
    file: Path | None,
    bundle: Path | None,
    *,
    reason: str | None,
    link: str,
    expires: datetime | None,
) -> None:
    """Add every new root cause in a bundle to the file, if its level counted in that run.

    An entry covers all cases that fail for its cause, in later runs too. Undecided and unstable
    cases cannot be listed; the command says how to leave them. Of a fuzz campaign every new
    finding is added that came back when it was repeated. One file serves `run`, `client` and
    `fuzz`.
    """
    place, run, today = _place(file), _run(bundle), utc_date()
    if expires and expires.date() < today:
        raise UsageFault(f"--expires {expires.date()}: expected today ({today}) or a later day")
    entries = _read(place, today) if place.exists() else ()
    judged = (*run.cases, *list_counted(run.ways))
    records = [
        msgspec.structs.replace(record, verdict="fail")
        for record in judged
        if record.verdict in ("fail", "known")
    ]
    applied = apply(records, entries, version=_version(run), today=today)
    causes = fold(applied.records, run.header)
    counting = [cause for cause in causes if cause.list_counted(run.header)]
    findings = _new_findings(run, entries, today)
    if counting or findings:
        why = reason or _asked_reason(_count_new(len(counting), len(findings)))
        until = expires.date() if expires else today + LASTS
        make = partial(Deviation, reason=why, expires=until, since=today, link=link)
        added = [
            *(make(id=c.shown.case, clause=c.clause, cause=c.id) for c in counting),
            *(make(id=name, clause=FUZZ, signature=f.id) for name, f in findings.items()),
        ]
        text = read_deviations_text(place).rstrip("\n") + "\n\n" if place.exists() else ""
        comments = {cause.shown.case: list(_describe(cause)) for cause in counting}
        comments |= {name: _describe_finding(finding) for name, finding in findings.items()}
        _write(place, text + to_toml(added, comments), today)
    _tell(place, added=len(counting) + len(findings), kept=len(entries))
    _tell_left_out(run, len(causes) - len(counting))
    _tell_undecided(run)


def _new_findings(
    run: Bundle, entries: Sequence[Deviation], today: date
) -> dict[str, FindingRecord]:
    """Return the findings that no valid entry lists, by their names; those that came back."""
    target, found = run.header.target, dict[str, FindingRecord]()
    for finding in run.findings:
        listed = mark_finding(finding, entries, target, today).deviation
        if finding.shown and (listed is None or listed.expired):
            found[name_finding(finding, target.protocol)] = finding
    return found


def _count_new(causes: int, findings: int) -> str:
    told = [count_noun(causes, "new cause")] if causes or not findings else []
    return " and ".join([*told, count_noun(findings, "new finding")] if findings else told)


def _describe_finding(finding: FindingRecord) -> list[str]:
    """Return the lines that say what a finding is."""
    rule = MEANINGS.get(finding.violated, finding.violated)
    case = f"{finding.frame} {finding.field}"
    if finding.cases:
        case += f": {finding.cases[-1].mutation}"
    lines = (f"{rule}: {finding.words}", f"{case}, in state {finding.state}")
    return [clip(printable(line), LONGEST_COMMENT) for line in lines]


def _describe(cause: Cause) -> Iterator[str]:
    """Yield the lines that say what an entry covers, in a run of today."""
    observed = printable(spoken(cause.shown.observation, cause.shown.case))
    yield clip(f"{cause.level} {cause.clause}: {observed}", LONGEST_COMMENT)
    if UNSURE in cause.shown.note:
        yield clip(printable(cause.shown.note), LONGEST_COMMENT)
    others = [case.case for case in cause.cases if case.case != cause.shown.case]
    if others:
        yield f"covers {count_noun(len(others), 'more case')}:"
        yield from (f"  {name}" for name in others[:LISTED])
        if len(others) > LISTED:
            yield f"  and {len(others) - LISTED} more"


@baseline.command("prune", cls=Command, examples=GROUP_EXAMPLES[2:3])
@_file
@_bundle
def prune(file: Path | None, bundle: Path | None) -> None:
    """Remove entries that have expired or whose cases pass.

    Entries that name a case or clause that the law does not have are removed too.
    """
    place, today = _place(file), utc_date()
    entries = read_deviations(place, known_ids=None, today=today)
    known = known_ids(collect())
    why = {
        entry: "has expired" if entry.expires < today else "is not in the law"
        for entry in entries
        if entry.expires < today or absence(entry, known)
    }
    if bundle is not None:
        run = read_bundle(bundle)
        stale = _stale(entries, run, today)
        # The bundle may be of another target than the file: its user sees it here.
        why = (
            dict.fromkeys(stale, f"passes in the run of {printable(run.header.target.url)}") | why
        )
    gone = tuple(why)
    kept = [entry for entry in entries if entry not in gone]
    if len(kept) < len(entries):
        numbers = [number for number, entry in enumerate(entries) if entry in gone]
        text = read_deviations_text(place)
        _write(place, _without(text, numbers, of=len(entries), kept=kept), today)
    if not (manner().json or manner().quiet):
        for entry, reason in why.items():
            echo(f"removed  {entry.id} {reason}")
    _tell(place, removed=len(entries) - len(kept), kept=len(kept))


@baseline.command("check", cls=Command, examples=GROUP_EXAMPLES[3:])
@_file
@_bundle
def check(file: Path | None, bundle: Path | None) -> int:
    """Check ids and dates; with --bundle also report entries whose cases pass.

    Exit code: 1 if an entry has expired or its cases pass.
    """
    place, today = _place(file, is_written=False), utc_date()
    entries = _read(place, today)
    expired = [entry.id for entry in entries if entry.expires < today]
    stale = [] if bundle is None else [e.id for e in _stale(entries, read_bundle(bundle), today)]
    if manner().json:
        told = {"file": str(place), "entries": len(entries), "expired": expired, "stale": stale}
        echo(json.dumps(told))
    elif not manner().quiet:
        for name in expired:
            echo(f"expired  {name}")
        for name in stale:
            echo(f"stale    {name} passes now; remove it")
        count = "1 entry" if len(entries) == 1 else f"{len(entries)} entries"
        echo(f"{place}: {count}, {len(expired)} expired, {len(stale)} stale")
    return 1 if expired or stale else 0


def _place(file: Path | None, *, is_written: bool = True) -> Path:
    settings = settings_for(manner())
    configured = settings.baseline
    if file is None and not configured:
        raise UsageFault(
            "no deviations file named: give FILE, or [run] baseline in wireproof.toml"
        )
    if file is None and is_written:
        confirm_found(settings, {"baseline"})
    return file or Path(str(configured))


def _run(bundle: Path | None) -> Bundle:
    if bundle is None:
        raise UsageFault("--bundle FILE is needed: the run whose failures are to be listed")
    return read_bundle(bundle)


def _read(place: Path, today: date) -> tuple[Deviation, ...]:
    return read_deviations(place, known_ids=known_ids(collect()), today=today)


def _stale(entries: Sequence[Deviation], run: Bundle, today: date) -> list[Deviation]:
    found: list[Deviation] = []
    for entry in entries:
        judged = (*run.cases, *list_counted(run.ways))
        applied = apply(judged, [entry], version=_version(run), today=today)
        if applied.stale:
            found.append(entry)
    return found


def _version(run: Bundle) -> str:
    return run.header.target.fingerprint.get("version", "")


def _asked_reason(what: str) -> str:
    said = manner()
    if said.no_input or said.json or not sys.stdin.isatty():
        raise UsageFault(f"--reason is needed for {what}: why are these failures known?")
    answer: str = click.prompt(f"{what}; why known?", err=True)
    return answer


def _without(text: str, numbers: Sequence[int], *, of: int, kept: Sequence[Deviation]) -> str:
    """Cut entries out of the file's text, so that comments on the others stay."""
    lines = text.splitlines(keepends=True)
    starts = [at for at, line in enumerate(lines) if line.strip() == "[[deviation]]"]
    if len(starts) != of:  # written in another form; then it is written anew
        return to_toml(kept)
    for index, start in enumerate(starts):
        while start and lines[start - 1].startswith("#"):
            start -= 1
        starts[index] = start
    ends = [*starts[1:], len(lines)]
    for number in reversed(numbers):
        del lines[starts[number] : ends[number]]
    return "".join(lines)


def _write(place: Path, text: str, today: date) -> None:
    """Write the file whole or not at all; what would not be read again is not written."""
    parse_deviations(text, place, known_ids=None, today=today)
    beside = place.with_name(f".{place.name}.new")
    try:
        beside.unlink(missing_ok=True)  # a symbolic link of that name would lead elsewhere
        with beside.open("x", encoding="utf-8") as file:
            file.write(text)
        beside.replace(place)
    except OSError as error:
        raise UsageFault(f"{place}: cannot be written ({error.strerror})") from error
    finally:
        beside.unlink(missing_ok=True)


def _tell_left_out(run: Bundle, count: int) -> None:
    """Say how failures are listed whose level did not count in the run."""
    if not count or manner().json or manner().quiet:
        return
    echo(
        f"{count_noun(count, 'cause')} left out: the run counted up to {run.header.scope()}; "
        "run again with a wider --profile to list them as well"
    )


def _tell_undecided(run: Bundle) -> None:
    """Say how to leave what a deviations file cannot list: it has no signature."""
    if manner().json or manner().quiet:
        return
    undecided = [r.case for r in run.cases if r.verdict in ("inconclusive", "unstable")]
    if undecided:
        told = count_noun(len(undecided), "undecided or unstable case")
        echo(
            f"{told} cannot be listed, since no failure of them was confirmed; run with "
            "--allow-unstable to leave such cases out of the exit code, or with --exclude ID"
        )
    if gone := sum(not finding.shown for finding in run.findings):
        echo(f"{count_noun(gone, 'finding')} left out: seen in the campaign, but not again")


def _tell(place: Path, **numbers: int) -> None:
    if manner().json:
        echo(json.dumps({"file": str(place), **numbers}))
    elif not manner().quiet:
        told = ", ".join(f"{number} {word}" for word, number in numbers.items())
        echo(f"{place}: {told}")
