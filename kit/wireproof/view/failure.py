"""The display of failures: one block per root cause."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from wireproof.view.exchange import key_exchange, show_content, whole_exchange
from wireproof.view.style import Style, Tone, cut_id, flow_pieces, wrap_after_heading, wrap_command
from wireproof.view.terminal import columns
from wireproof_kit.clients.course import CourseLine
from wireproof_kit.decoding.printable import clip, printable
from wireproof_kit.protocols import kit_part
from wireproof_reports.causes import Cause
from wireproof_reports.exchange.evidence import first_difference
from wireproof_reports.exchange.last_words import last_words
from wireproof_reports.exchange.repeating import quote, run_again, way_again
from wireproof_reports.wording import count_noun, repeated
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.clauses.spoken import spoken
from wireproof_spec.record import CaseRecord, DifferenceRecord, HeaderRecord

INDENT = 12
LISTED = 6
CONTENT_ROWS = 2
"""Rows of a body or frame that a verbose course shows."""
INTERMITTENT = "intermittent: only some runs show this, so a single repeat may not"
ROUNDS = 20
"""Rounds of the replay of an intermittent failure: more than the repeats of a run."""
COURSE_LINES = 14
"""Of a case with a client its last steps are shown: they decided it."""


@dataclass(frozen=True, slots=True)
class FailureContext:
    """What the display of failures needs: run header, bundle path, and how much to show."""

    header: HeaderRecord
    bundle: Path | None
    verbose: int
    style: Style


def failure(cause: Cause, scene: FailureContext) -> Iterator[str]:
    """Return the lines that show one root cause with its failed cases."""
    case = cause.shown
    counts = scene.header.counts(cause.level, cause.origin)
    is_unstable = case.verdict == "unstable"
    word = "NOT COUNTED" if not counts else "UNSTABLE" if is_unstable else "FAIL"
    head, *rest = flow_pieces(
        word,
        [
            cut_id(case.case),
            f"{cause.side(scene.header)} {cause.level.upper()} {cause.clause}".lstrip(),
            *([f"origin {cause.origin}"] if cause.origin else []),
            repeated(case.repeats),
        ],
    )
    yield scene.style.paint(word, _tone(case, counts=counts)) + head.removeprefix(word)
    yield from rest
    if not counts:
        yield f"  (this run counts up to {scene.header.scope()})"
    yield from _law(cause.clause, scene.header.target.protocol)
    yield from _outcome(case, scene.header.target.protocol)
    yield from _bytes(case, scene)
    yield from _others(cause, scene)
    yield from _further(case, scene)


def _tone(case: CaseRecord, *, counts: bool) -> Tone:
    if not counts:
        return "faint"
    return "doubt" if case.verdict == "unstable" else "bad"


def _law(clause_id: str, protocol: str) -> Iterator[str]:
    clause = load_catalogue(protocol).clause(clause_id)
    if clause is not None:
        yield from wrap_after_heading("", clause.law, indent=2)


def expected_words(case: CaseRecord) -> str:
    """Return in words the observations of a case that would have conformed."""
    conforming = (spoken(pattern.removesuffix(",*"), case.case) for pattern in case.accepted)
    return " | ".join(dict.fromkeys(conforming)) or "nothing is accepted"


def _outcome(case: CaseRecord, protocol: str) -> Iterator[str]:
    yield from wrap_after_heading("  expected", expected_words(case), indent=INDENT)
    yield from wrap_after_heading(
        "  actual", printable(spoken(case.observation, case.case)), indent=INDENT
    )
    if case.note:
        yield from wrap_after_heading("  note", printable(case.note), indent=INDENT)
    difference = first_difference(case, protocol)
    if difference is not None:
        yield from wrap_after_heading("  differs", _difference(difference), indent=INDENT)


def _difference(difference: DifferenceRecord) -> str:
    place = "" if difference.offset is None else f" at byte {difference.offset}"
    found, due = printable(difference.found), printable(difference.expected)
    return f"{difference.field}{place}: expected {due}, found {found}"


def _bytes(case: CaseRecord, scene: FailureContext) -> Iterator[str]:
    protocol = scene.header.target.protocol
    tell = kit_part(protocol).tell_course if scene.header.target.is_client() else None
    if tell is not None:
        steps = case.transcript.steps
        conns = {steps[index].conn for index in case.evidence if index < len(steps)}
        yield from _course(list(tell(case.transcript)), conns, verbose=scene.verbose)
        yield from _last_words(case)
    elif scene.verbose:
        yield from whole_exchange(
            case.transcript,
            protocol,
            difference=first_difference(case, protocol),
            failing=[step for step in case.evidence if step < len(case.transcript.steps)],
            all_bytes=scene.verbose > 1,
        )
    else:
        yield from key_exchange(case, protocol)


def _course(lines: Sequence[CourseLine], conns: Collection[str], *, verbose: int) -> Iterator[str]:
    """Return the course of a case with a client; its last lines, unless asked for all.

    If the case rests on the connections ``conns``, these are the last lines on them: meanwhile
    other connections may have had more. Verbose shows all lines with the beginning of bodies and
    frames, twice verbose with all bytes.
    """
    own = [line for line in lines if not line.conn or line.conn in conns] if conns else lines
    shown = lines if verbose or len(lines) <= COURSE_LINES else own[-COURSE_LINES:]
    if len(shown) < len(lines):
        hidden = count_noun(len(lines) - len(shown), "other line" if conns else "line")
        yield f"  course    … {hidden}{'' if conns else ' before'} (-v shows all)"
    for index, line in enumerate(shown):
        head = "  course  " if not index and len(shown) == len(lines) else ""
        yield clip(f"{head:<10}{printable(line.text)}", columns())
        if verbose and line.data:
            yield from show_content(line.data, rows=CONTENT_ROWS if verbose == 1 else None)


def _last_words(case: CaseRecord) -> Iterator[str]:
    """Return the end of what a client wrote to stderr."""
    for index, line in enumerate(last_words(case.transcript)):
        yield clip(f"{'' if index else '  stderr':<12}{printable(line)}", columns())


def _others(cause: Cause, scene: FailureContext) -> Iterator[str]:
    others = [case.case for case in cause.cases if case.case != cause.shown.case]
    yield from list_others(cause.shown.case, others, verbose=bool(scene.verbose))


def list_others(shown: str, others: Sequence[str], *, verbose: bool) -> Iterator[str]:
    """Return the lines that name the other cases of a cause; all of them if ``verbose``."""
    if not others:
        return
    listed = others if verbose else others[:LISTED]
    names = ", ".join(_short(name, shown) for name in listed)
    more = f", … (-v lists all {len(others)})" if len(listed) < len(others) else ""
    text = f"{count_noun(len(others), 'more case')}: {names}{more}"
    yield from wrap_after_heading("  same cause", text, indent=INDENT + 2)


def _short(name: str, beside: str) -> str:
    """Return the last part of an id whose other parts equal those of the id beside it."""
    stem, _, last = name.rpartition("/")
    return f"/{last}" if beside.startswith(f"{stem}/") else cut_id(name)


def _further(case: CaseRecord, scene: FailureContext) -> Iterator[str]:
    way = way_again(case, scene.header.target)
    is_unstable = case.verdict == "unstable"
    if is_unstable:
        yield from wrap_after_heading("  again", INTERMITTENT, indent=INDENT)
    if way in ("run", "hazardous", "client"):
        yield from wrap_command("  repeat", run_again(case, scene.header), indent=INDENT)
    elif way == "replay" and scene.bundle:
        named = f"{quote(case.case)} --bundle {quote(str(scene.bundle))}"
        rounds = f" --times {ROUNDS}" if is_unstable else ""
        yield from wrap_command("  replay", f"wireproof replay {named}{rounds}", indent=INDENT)
    if is_unstable and scene.bundle:
        named = f"{quote(str(scene.bundle))} --cause {quote(case.case)}"
        yield from wrap_command("  report", f"wireproof report {named}", indent=INDENT)
    yield f"  explain   wireproof explain {case.clause}"


def failures(causes: Sequence[Cause], scene: FailureContext) -> Iterator[str]:
    """Return the lines that show all root causes, with an empty line after each."""
    for cause in causes:
        yield from failure(cause, scene)
        yield ""
