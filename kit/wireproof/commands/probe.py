"""``wireproof probe``: what a target offers and which readings it follows, with evidence."""

import json
import sys
from collections.abc import Iterator, Mapping

import click
import msgspec

from wireproof.options.global_options import manner
from wireproof.options.lazy_group import Command
from wireproof.options.target_choice import key_options, settings_for, sole_target
from wireproof.view.banner import CLAIM_WORDS
from wireproof.view.events import target_object
from wireproof.view.exchange import whole_exchange
from wireproof.view.output import echo
from wireproof.view.style import Style, Tone, wrap_after_heading
from wireproof_kit.decoding.printable import printable
from wireproof_kit.runner.run import Run, RunPlan
from wireproof_spec.clauses.spoken import spoken
from wireproof_spec.record import BindingRecord, ClaimRecord
from wireproof_spec.step_record import TranscriptRecord

EXAMPLES = (
    ("wireproof probe nsq://127.0.0.1:4150", "show capabilities and readings"),
    ("wireproof probe nsq://127.0.0.1:4150 -v", "also show the exchanges that prove them"),
    ("wireproof probe --reference --json", "probe the embedded reference broker; print JSON"),
)
INDENT = 21
TONES: dict[str, Tone] = {"shown": "good", "absent": "faint", "broken": "bad", "unknown": "doubt"}


@click.command("probe", cls=Command, examples=EXAMPLES, params=[*key_options()])
@click.argument("url", required=False)
@click.option("--reference", is_flag=True, help="Probe the embedded reference broker.")
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    metavar="SEC",
    help="Seconds to wait for an answer; default measured.",
)
def probe(url: str | None, *, reference: bool, timeout: float | None) -> None:
    """Show which capabilities a broker has and which readings of the text it follows."""
    settings = settings_for(manner())
    arguments = [] if url is None else [url]
    named = sole_target(arguments, settings, reference=reference)
    claims = {name: said == "true" for name, said in settings.claims.items() if said != "probe"}
    run = Run.open(RunPlan(url=named.url, keys=named.keys, claims=claims, timeout=timeout))
    try:
        fingerprint = run.session.fingerprint()
    finally:
        run.close()
    if manner().json:
        echo(json.dumps(_plain(run, fingerprint), indent=2))
        return
    for line in _describe_target(run, fingerprint, verbose=manner().verbose):
        echo(line)


def _plain(run: Run, fingerprint: Mapping[str, str]) -> dict[str, object]:
    return {
        "target": target_object(run.target.url, fingerprint),
        "claims": msgspec.to_builtins(run.bench.claims),
        "readings": msgspec.to_builtins(run.bench.readings),
    }


def _describe_target(run: Run, fingerprint: Mapping[str, str], *, verbose: int) -> Iterator[str]:
    style = Style(manner().is_coloured(sys.stdout))
    about = ", ".join(f"{key} {printable(value)}" for key, value in fingerprint.items())
    yield from wrap_after_heading("target", f"{run.target.url}   {about}")
    for name, claim in run.bench.claims.items():
        yield from _claim(run, name, claim, style)
        yield from _evidence(run, claim.transcript, verbose=verbose)
    for name, bound in run.bench.readings.items():
        yield from _describe_reading(run, name, bound)
        yield from _evidence(run, bound.transcript, verbose=verbose)
    yield from _reasons({**run.bench.claims, **run.bench.readings})


def _reasons(probed: Mapping[str, ClaimRecord | BindingRecord]) -> Iterator[str]:
    """Yield each reason for which a probe showed nothing, with the names that it concerns."""
    names: dict[str, list[str]] = {}
    for name, record in probed.items():
        if record.note:
            names.setdefault(record.note, []).append(name)
    for note, concerned in names.items():
        yield from wrap_after_heading("reason", f"{', '.join(concerned)}: {printable(note)}")


def _claim(run: Run, name: str, claim: ClaimRecord, style: Style) -> Iterator[str]:
    capability = run.catalogue.capability(name)
    title = capability.title if capability else name
    seen = spoken(claim.observation, run.catalogue.protocol)
    first, *rest = wrap_after_heading(
        f"claim    {name}".ljust(INDENT - 1) + " ",
        f"{CLAIM_WORDS[claim.state]}: {title} (probe: {seen})",
        indent=INDENT,
    )
    word = CLAIM_WORDS[claim.state]
    yield first.replace(word, style.paint(word, TONES[claim.state]), 1)
    yield from rest


def _describe_reading(run: Run, name: str, bound: BindingRecord) -> Iterator[str]:
    decision = run.catalogue.decision(name)
    options = decision.option if decision else ()
    meaning = next((o.meaning for o in options if o.name == bound.reading), "")
    followed = f"{bound.reading}: {meaning}" if bound.reading else "no registered reading shown"
    head = f"reading  {name}"
    seen = spoken(bound.observation, run.catalogue.protocol)
    text = f"{followed} (probe: {seen})"
    if len(head) < INDENT:
        yield from wrap_after_heading(head, text, indent=INDENT)
    else:
        yield head
        yield from wrap_after_heading("", text, indent=INDENT)


def _evidence(run: Run, transcript: TranscriptRecord, *, verbose: int) -> Iterator[str]:
    if verbose:
        yield from whole_exchange(transcript, run.target.protocol, all_bytes=verbose > 1)
