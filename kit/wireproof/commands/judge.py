"""``wireproof judge``: verdicts again from recorded observations, without a broker."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import get_args

import click
import msgspec

from wireproof.options.global_options import manner
from wireproof.options.lazy_group import Command
from wireproof.options.target_choice import settings_for
from wireproof.view.choose_display import choose_display
from wireproof.view.output import echo
from wireproof.view.style import wrapped
from wireproof.view.summary import Result
from wireproof_kit.bundle.file import Bundle, BundleWriter, read_bundle
from wireproof_kit.errors import UsageFault
from wireproof_kit.protocols import known_protocols
from wireproof_kit.runner.collect import collect
from wireproof_kit.runner.engine import judged
from wireproof_kit.runner.instance import known_ids
from wireproof_kit.verdicts.deviations import Applied, apply, read_deviations
from wireproof_kit.verdicts.judge import Bench, claim_state
from wireproof_kit.verdicts.outcome import Standing, conclude
from wireproof_kit.verdicts.revision import refuse_later
from wireproof_spec.catalogue import LEVELS, Catalogue, load_catalogue
from wireproof_spec.record import (
    BindingRecord,
    CaseRecord,
    ClaimRecord,
    HeaderRecord,
    Level,
    ReadingChoice,
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

_FILE = click.Path(path_type=Path)


@dataclass(frozen=True, slots=True)
class Terms:
    """Under what a bundle is judged; None leaves what the run had."""

    profile: Level | None = None
    reading: ReadingChoice | None = None
    spec_revision: int | None = None
    baseline: Path | None = None
    allow_unstable: bool = False


@click.command("judge", cls=Command, examples=EXAMPLES)
@click.argument("bundle", type=_FILE)
@click.option("--profile", type=click.Choice(LEVELS), help="Failures up to this level count.")
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
@click.option(
    "--bundle", "out", type=_FILE, metavar="FILE", help="Write the result as a new bundle."
)
def judge(
    bundle: Path,
    profile: Level | None,
    reading: ReadingChoice | None,
    *,
    revision: int | None,
    baseline: Path | None,
    allow_unstable: bool,
    out: Path | None,
) -> int:
    """Judge a bundle again, without a broker, and report changed verdicts.

    Without options the level and the readings of the run apply, with this version's catalogue.
    """
    settings = settings_for(manner())
    named = baseline or (Path(settings.baseline) if settings.baseline else None)
    recorded = read_bundle(bundle)
    if out is not None and out.exists() and out.samefile(bundle):
        raise UsageFault(f"--bundle {out} is the bundle that is judged; name another file")
    terms = Terms(profile, reading, revision, named, allow_unstable)
    result = judge_again(recorded, terms)
    result = _written(result, out) if out is not None else result
    display = choose_display(manner(), bundle=bundle, recorded=True)
    display.begin(result.header, selected=len(result.records))
    for record in result.records:
        display.case(record)
    if not manner().quiet:
        for line in changes(recorded.cases, result.records):
            echo(line, err=manner().json)
    display.end(result)
    return result.footer.exit


def judge_again(bundle: Bundle, terms: Terms) -> Result:
    """Judge every recorded observation under other terms.

    Raises:
        UsageFault: the protocol or a case is unknown to this kit, or the deviations file is
            wrong.
    """
    protocol = bundle.header.target.protocol
    if protocol not in known_protocols():
        raise UsageFault(f"{bundle.path}: protocol {protocol!r} is unknown to this kit")
    catalogue = load_catalogue(protocol)
    refuse_later(catalogue, terms.spec_revision)
    header = _header(bundle.header, catalogue, terms)
    bench = Bench(catalogue, header.claims, header.readings, header.reading)
    kept = [record for record in bundle.cases if _is_known(record, catalogue, terms)]
    if not kept:
        raise UsageFault(f"{bundle.path}: no case in it is known at that revision")
    applied = _applied([judged(record, bench) for record in kept], header, terms)
    standing = Standing(
        profile=header.profile,
        stale=applied.stale,
        expired=applied.expired,
        interrupted=bundle.footer is None or bundle.footer.interrupted,
        allow_unstable=terms.allow_unstable,
    )
    footer = conclude(header, applied.records, catalogue, standing)
    return Result(header, applied.records, footer, bundle.path)


def changes(before: Sequence[CaseRecord], after: Sequence[CaseRecord]) -> Iterator[str]:
    """Say which verdicts are not those of the run."""
    recorded = {record.case: record for record in before}
    changed = [record for record in after if recorded[record.case].verdict != record.verdict]
    for record in changed:
        was = recorded[record.case].verdict
        yield from wrapped("changed", f"{record.case}  {was} -> {record.verdict}: {record.reason}")
    left_out = len(before) - len(after)
    yield f"{len(changed)} verdicts changed against the run" + (
        f", {left_out} cases left out" if left_out else ""
    )


def _header(header: HeaderRecord, catalogue: Catalogue, terms: Terms) -> HeaderRecord:
    return msgspec.structs.replace(
        header,
        spec=catalogue.revisions,
        claims={name: _claim(name, claim, catalogue) for name, claim in header.claims.items()},
        readings={
            name: _binding(name, bound, catalogue) for name, bound in header.readings.items()
        },
        profile=terms.profile or header.profile,
        reading=terms.reading or header.reading,
    )


def _claim(name: str, claim: ClaimRecord, catalogue: Catalogue) -> ClaimRecord:
    """Read a probe's observation again; what the user denied stays denied."""
    capability = catalogue.capability(name)
    if capability is None or claim.state == "absent":
        return claim
    state = claim_state(capability, claim.observation, claimed=claim.claimed)
    return msgspec.structs.replace(claim, state=state)


def _binding(name: str, bound: BindingRecord, catalogue: Catalogue) -> BindingRecord:
    decision = catalogue.decision(name)
    if decision is None:
        return bound
    return msgspec.structs.replace(bound, reading=decision.shown(bound.observation))


def _is_known(record: CaseRecord, catalogue: Catalogue, terms: Terms) -> bool:
    clause = catalogue.clause(record.clause)
    if clause is None or terms.spec_revision is None:
        return True
    return clause.since <= terms.spec_revision


def _applied(records: Sequence[CaseRecord], header: HeaderRecord, terms: Terms) -> Applied:
    if terms.baseline is None:
        return Applied(tuple(records))
    known = {*(record.case for record in records), *known_ids(collect())}
    today = date.today()
    entries = read_deviations(terms.baseline, known_ids=known, today=today)
    version = header.target.fingerprint.get("version", "")
    return apply(records, entries, version=version, today=today)


def _written(result: Result, out: Path) -> Result:
    try:
        writer = BundleWriter(out, result.header)
    except OSError as error:
        raise UsageFault(f"--bundle {out}: cannot be written ({error.strerror})") from error
    for record in result.records:
        writer.add(record)
    footer = writer.close(result.footer)
    return Result(result.header, result.records, footer, out)
