"""``wireproof judge``: verdicts again from recorded observations, without a broker."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

import click
import msgspec

from wireproof.commands.bundles.diff import diff_event
from wireproof.options.global_options import manner
from wireproof.options.lazy_group import Command
from wireproof.options.run_options import FAILURES_ONLY_HELP, ORIGINS_HELP
from wireproof.options.target_choice import settings_for
from wireproof.view.choose_display import choose_display
from wireproof.view.events import write_event
from wireproof.view.output import echo
from wireproof.view.style import wrap_after_heading
from wireproof.view.summary import Result, outdated
from wireproof_kit.bundle.file import Bundle, BundleWriter, read_bundle
from wireproof_kit.clients.again import observe_again
from wireproof_kit.errors import UsageFault
from wireproof_kit.protocols import known_protocols
from wireproof_kit.runner.collect import collect
from wireproof_kit.runner.instance import known_ids
from wireproof_kit.runner.request import read_origins
from wireproof_kit.verdicts.deviations import AppliedDeviations, apply, read_deviations, utc_date
from wireproof_kit.verdicts.diff import compare
from wireproof_kit.verdicts.judge import JudgeContext, claim_state, judge_record
from wireproof_kit.verdicts.outcome import RunFactors, conclude
from wireproof_kit.verdicts.revision import check_revision
from wireproof_reports.wording import count_noun
from wireproof_spec.clauses.catalogue import LEVELS, Catalogue, Level
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.clauses.origin import Binding
from wireproof_spec.record import (
    BindingRecord,
    CaseRecord,
    ClaimRecord,
    HeaderRecord,
    ReadingChoice,
    list_counted,
)

EXAMPLES = (
    ("wireproof judge out/run.jsonl", "with this version's catalogue and the options of the run"),
    (
        "wireproof judge out/run.jsonl --reading published",
        "accept only the published reading of the text",
    ),
    ("wireproof judge out/run.jsonl --profile should", "count failures up to level should"),
    (
        "wireproof judge out/run.jsonl --baseline deviations.toml",
        "allow the known deviations in the file",
    ),
)

UNPINNED = "without --changes-only the verdicts and the exit code may be others"
_FILE = click.Path(path_type=Path)


@dataclass(frozen=True, slots=True)
class Terms:
    """The options by which a bundle is judged again; None keeps what applied in the run."""

    profile: Level | None = None
    origins: tuple[Binding, ...] | None = None
    reading: ReadingChoice | None = None
    spec_revision: int | None = None
    baseline: Path | None = None
    allow_unstable: bool = False


@click.command("judge", cls=Command, examples=EXAMPLES)
@click.argument("bundle", type=_FILE)
@click.option("--profile", type=click.Choice(LEVELS), help="Failures up to this level count.")
@click.option("--origin", metavar="ORIGINS", help=f"{ORIGINS_HELP}.")
@click.option(
    "--reading",
    type=click.Choice(get_args(ReadingChoice)),
    help="Accept this reading of the text.",
)
@click.option(
    "--spec-rev",
    "revision",
    type=click.IntRange(1),
    metavar="N",
    help="Only clauses of revision N or earlier.",
)
@click.option("--baseline", type=_FILE, metavar="FILE", help="File of known deviations.")
@click.option("--allow-unstable", is_flag=True, help="Ignore undecided and unstable cases.")
@click.option("--failures-only", is_flag=True, help=FAILURES_ONLY_HELP)
@click.option(
    "--changes-only",
    is_flag=True,
    help="Print only the verdicts that the law of this version changes, and the exit codes. "
    "Known deviations are no change.",
)
@click.option(
    "--bundle", "out", type=_FILE, metavar="FILE", help="Write the result as a new bundle."
)
def judge(
    bundle: Path,
    profile: Level | None,
    reading: ReadingChoice | None,
    *,
    origin: str | None,
    revision: int | None,
    baseline: Path | None,
    allow_unstable: bool,
    out: Path | None,
    failures_only: bool,
    changes_only: bool,
) -> int:
    """Judge a bundle again, without a broker, and report changed verdicts.

    Without options the level, origins and readings of the run apply, with the law of this
    version. A bundle that was recorded under another revision of the law is judged by this one.
    With --changes-only the revision that the configuration pins does not apply: it shows what an
    upgrade of the kit or of the pinned revision would change.
    Exit codes are those of `wireproof run`.
    """
    settings = settings_for(manner())
    named = baseline or (Path(settings.baseline) if settings.baseline else None)
    recorded = read_bundle(bundle)
    if out is not None and out.exists() and out.samefile(bundle):
        raise UsageFault(f"--bundle {out} is the bundle that is judged; name another file")
    origins = None if origin is None else read_origins(origin)
    pinned = None if changes_only or settings.spec_rev is None else int(settings.spec_rev)
    terms = Terms(profile, origins, reading, revision or pinned, named, allow_unstable)
    result = judge_again(recorded, terms)
    result = _write_result(result, out) if out is not None else result
    if changes_only:
        if settings.spec_rev and revision is None and not manner().json:
            echo(f"revision {settings.spec_rev} of the configuration does not apply: {UNPINNED}")
        _tell_changes(recorded, result, terms)
        return result.footer.exit
    display = choose_display(manner(), bundle=bundle, recorded=True, failures_only=failures_only)
    display.begin(result.header, selected=len(result.records))
    for record in result.records:
        display.case(record)
    if not manner().quiet:
        for line in changes(recorded, result, terms.spec_revision):
            echo(line, err=manner().json)
    display.end(result)
    return result.footer.exit


def _tell_changes(recorded: Bundle, result: Result, terms: Terms) -> None:
    before = _list_alike(recorded, result.header, terms)
    again = Bundle(
        recorded.path, result.header, tuple(result.records), result.footer, ways=tuple(result.ways)
    )
    if manner().json:
        write_event(sys.stdout, diff_event(compare(before, again), result.footer.exit))
        return
    for line in changes(before, result, terms.spec_revision):
        echo(line)
    for line in outdated(result.footer):
        echo(line)
    was_known = sum(record.verdict == "known" for record in recorded.cases)
    if was_known and terms.baseline is None:
        known = count_noun(was_known, "known failure")
        echo(f"{known} of the run counted again; --baseline FILE says that they are known")
    code = "none" if recorded.footer is None else str(recorded.footer.exit)
    echo(f"exit code of the run {code}, now {result.footer.exit}")


def _list_alike(recorded: Bundle, header: HeaderRecord, terms: Terms) -> Bundle:
    """Return a bundle with the deviations of today listed: what still differs is the law's."""
    results = [*recorded.cases, *(way.result for way in recorded.ways)]
    failures = [
        msgspec.structs.replace(each, verdict="fail") if each.verdict == "known" else each
        for each in results
    ]
    listed = _apply_deviations(failures, header, terms).records
    cases, judged = listed[: len(recorded.cases)], listed[len(recorded.cases) :]
    ways = map(
        lambda way, result: msgspec.structs.replace(way, result=result), recorded.ways, judged
    )
    return replace(recorded, cases=cases, ways=tuple(ways))


def judge_again(bundle: Bundle, terms: Terms) -> Result:
    """Judge every observation recorded in a bundle again, with other options.

    Raises:
        UsageFault: the protocol is unknown to this kit, the bundle holds no cases, the law has
            none of them, or the deviations file is wrong.
    """
    protocol = bundle.header.target.protocol
    if protocol not in known_protocols():
        raise UsageFault(f"{bundle.path}: protocol {protocol!r} is unknown to this kit")
    if empty := bundle.why_empty():
        raise UsageFault(empty)
    target = bundle.header.target
    catalogue = target.narrow(load_catalogue(protocol))
    check_revision(catalogue, terms.spec_revision)
    header = _header(bundle.header, catalogue, terms)
    bench = JudgeContext(catalogue, header.claims, header.readings, header.reading)
    cases = bundle.cases
    if target.role:
        cases = tuple(observe_again(cases, collect(protocol)))
    kept = [record for record in cases if _is_known(record, catalogue, terms)]
    if not kept:
        law = _revisions(header)
        raise UsageFault(f"{bundle.path}: the law ({law}) has none of its cases at that revision")
    results = [judge_record(each, bench) for each in (*kept, *(w.result for w in bundle.ways))]
    applied = _apply_deviations(results, header, terms)
    records, judged = applied.records[: len(kept)], applied.records[len(kept) :]
    standing = RunFactors(
        stale=applied.stale,
        expired=applied.expired,
        interrupted=bundle.footer is None or bundle.footer.interrupted,
        allow_unstable=terms.allow_unstable,
        duration_us=bundle.footer.duration_us if bundle.footer else 0,
    )
    ways = tuple(
        msgspec.structs.replace(way, result=result)
        for way, result in zip(bundle.ways, judged, strict=True)
    )
    footer = conclude(header, records, catalogue, standing, ways)
    return Result(header, records, footer, bundle.path, ways=ways)


def changes(before: Bundle, after: Result, revision: int | None = None) -> Iterator[str]:
    """Yield lines on which law judged, which cases it lacks, and which verdicts have changed."""
    was, now = _revisions(before.header), _revisions(after.header)
    catalogue = load_catalogue(before.header.target.protocol)
    if was != now:
        yield from wrap_after_heading("law", f"recorded under {was}; judged by {now}")
    recorded = {record.case: record for record in (*before.cases, *list_counted(before.ways))}
    judged = (*after.records, *list_counted(after.ways))
    kept = {record.case for record in judged}
    for name in recorded:
        if name not in kept:
            law = catalogue.find_law(name)
            is_later = law is not None and revision is not None and law[0].since > revision
            why = f"revision {law[0].since} added it" if law and is_later else "taken away"
            yield from wrap_after_heading("left out", f"{name}: {why} (the law is {now})")
    changed = [record for record in judged if recorded[record.case].verdict != record.verdict]
    for record in changed:
        old = recorded[record.case].verdict
        yield from wrap_after_heading(
            "changed", f"{record.case}  {old} -> {record.verdict}: {record.reason}"
        )
    raised = [
        record
        for record in judged
        if record.verdict == recorded[record.case].verdict == "fail"
        and record.level != recorded[record.case].level
    ]
    for record in raised:
        level = recorded[record.case].level
        yield from wrap_after_heading(
            "changed", f"{record.case}  fails {record.clause} at {record.level}; it was {level}"
        )
    told = [f"{count_noun(len(changed), 'verdict')} changed against the run"]
    if raised:
        told.append(f"{count_noun(len(raised), 'failure')} at another level")
    if left_out := len(recorded) - len(kept):
        told.append(f"{count_noun(left_out, 'case')} left out")
    yield ", ".join(told)


def _revisions(header: HeaderRecord) -> str:
    return ", ".join(f"{name} r{revision}" for name, revision in header.spec.items())


def _header(header: HeaderRecord, catalogue: Catalogue, terms: Terms) -> HeaderRecord:
    return msgspec.structs.replace(
        header,
        spec=catalogue.revisions,
        claims={name: _claim(name, claim, catalogue) for name, claim in header.claims.items()},
        readings={
            name: _bind_again(name, bound, catalogue) for name, bound in header.readings.items()
        },
        profile=terms.profile or header.profile,
        origins=terms.origins or header.origins,
        reading=terms.reading or header.reading,
    )


def _claim(name: str, claim: ClaimRecord, catalogue: Catalogue) -> ClaimRecord:
    """Read a probe's observation again; what the user denied stays denied."""
    capability = catalogue.capability(name)
    if capability is None or claim.state == "absent":
        return claim
    state = claim_state(capability, claim.observation, claimed=claim.claimed)
    return msgspec.structs.replace(claim, state=state)


def _bind_again(name: str, bound: BindingRecord, catalogue: Catalogue) -> BindingRecord:
    decision = catalogue.decision(name)
    if decision is None:
        return bound
    return msgspec.structs.replace(bound, reading=decision.find_shown(bound.observation))


def _is_known(record: CaseRecord, catalogue: Catalogue, terms: Terms) -> bool:
    """Return True if the catalogue has the case at the requested revision."""
    law = catalogue.find_law(record.case)
    if law is None:
        return False
    return terms.spec_revision is None or law[0].since <= terms.spec_revision


def _apply_deviations(
    records: Sequence[CaseRecord], header: HeaderRecord, terms: Terms
) -> AppliedDeviations:
    if terms.baseline is None:
        return AppliedDeviations(tuple(records))
    known = {*(record.case for record in records), *known_ids(collect())}
    today = utc_date()
    entries = read_deviations(terms.baseline, known_ids=known, today=today)
    version = header.target.fingerprint.get("version", "")
    return apply(records, entries, version=version, today=today)


def _write_result(result: Result, out: Path) -> Result:
    writer = BundleWriter(out, result.header)
    for record in result.records:
        writer.add(record)
    for way in result.ways:
        writer.add(way)
    footer = writer.close(result.footer)
    return Result(result.header, result.records, footer, out, ways=result.ways)
