"""The record of one case as an Allure result with its files."""

import hashlib
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from wireproof_reports.exchange.annotated_text import as_text, make_heading
from wireproof_reports.exchange.annotation import clip
from wireproof_reports.exchange.evidence import Exchange, StepView, case_exchange
from wireproof_reports.exchange.reproducer import Reproducer, reproducer
from wireproof_reports.render.allure.categories import UNSTABLE, category_of, status_of
from wireproof_reports.render.allure.result import (
    Attachment,
    Details,
    Label,
    Link,
    Parameter,
    RenderedResult,
    Result,
    Step,
)
from wireproof_reports.render.clauses import anchor, source, unknown_clause
from wireproof_reports.render.markup import Markdown, address, code, fill
from wireproof_reports.wording import count_noun
from wireproof_spec.clauses.catalogue import Catalogue
from wireproof_spec.clauses.spoken import spoken, spoken_patterns
from wireproof_spec.record import CaseRecord, HeaderRecord
from wireproof_spec.step_record import StepRecord

LONGEST_NAME = 200


def steps_of(exchange: Exchange, recorded: Sequence[StepRecord], *, start: int) -> list[Step]:
    """Return an exchange as Allure steps; the first step whose answer differs is failed."""
    last = len(exchange.tail)
    head = zip(exchange.head, recorded, strict=False)
    tail = zip(exchange.tail, recorded[len(recorded) - last :], strict=True)
    steps = [_step(view, step, start) for view, step in head]
    if exchange.omitted:
        gap = f"… {count_noun(exchange.omitted, 'step')} left out"
        steps.append(Step(gap, "passed", steps[-1].stop, steps[-1].stop))
    return [*steps, *(_step(view, step, start) for view, step in tail)]


def _step(view: StepView, step: StepRecord, start: int) -> Step:
    differing = next(iter(_list_differing(view)), "")
    at = start + step.at_us // 1000
    return Step(
        name=clip(make_heading(view), LONGEST_NAME),
        status="failed" if differing else "passed",
        start=at,
        stop=at,
        status_details=Details(message=differing),
    )


def _list_differing(view: StepView) -> Iterator[str]:
    for line in view.lines:
        if line.differs:
            yield f"{line.label} at byte {line.offset}: {line.value or line.head}; {line.differs}"


PREFIX = "wireproof-"
"""How the names of our files begin, so that ours can be told from others' in one folder."""

PAGE = "wireproof.html"
"""The report of the same run that clause links lead to, relative to Allure's own page."""

CASE_LABEL = "wireproof_case"

SEVERITIES = {"must": "critical", "should": "normal", "may": "minor", "observed": "trivial"}

_SPACE = uuid.uuid5(uuid.NAMESPACE_URL, "wireproof:allure")
_CONFORMING = ("pass", "reading", "unsupported")
_PLAIN = ("pass", "unsupported")


@dataclass(frozen=True, slots=True)
class Run:
    """What the Allure results of a run share; ``key`` identifies the run."""

    header: HeaderRecord
    catalogue: Catalogue
    bundle: str
    key: str


def wants_capture(case: CaseRecord) -> bool:
    """Return True if the Allure result of a case gets a pcap file; a passing case does not."""
    return case.verdict not in _PLAIN


def render_case(
    case: CaseRecord, run: Run, *, start: int, capture: bytes | None
) -> RenderedResult:
    """Return the Allure result of a case that began at ``start`` (ms since 1970).

    ``capture`` is its pcap file.
    """
    identity = uuid.uuid5(_SPACE, f"{run.key}\n{case.case}")
    is_failing = case.verdict not in _CONFORMING
    shown = case_exchange(case, run.header.target.protocol)
    again = reproducer(case, run.header, run.bundle) if is_failing else None
    attachments: list[Attachment] = []
    files: dict[str, bytes] = {}
    for number, (name, kind, ending, data) in enumerate(_files(shown, again, capture)):
        file = f"{PREFIX}{identity}-{number}-attachment.{ending}"
        attachments.append(Attachment(name, file, kind))
        files[file] = data
    history = hashlib.md5(f"wireproof:{case.case}".encode(), usedforsecurity=False).hexdigest()
    category = category_of(case, run.header)
    result = Result(
        uuid=str(identity),
        history_id=history,
        test_case_id=history,
        full_name=case.case,
        name=f"{case.case}: {case.title}",
        status=status_of(category),
        status_details=_details(case, category, again),
        description="\n\n".join(_description(case, run)),
        start=start,
        stop=start + case.duration_us // 1000,
        title_path=tuple(case.case.split("/")[:-1]),
        labels=tuple(_labels(case)),
        links=(Link(case.clause, _place(case), "tms"),),
        parameters=(Parameter("target", run.header.target.title, excluded=True),),
        steps=tuple(steps_of(shown, case.transcript.steps, start=start)),
        attachments=tuple(attachments),
    )
    return RenderedResult(result, files)


def _files(
    shown: Exchange, again: Reproducer | None, capture: bytes | None
) -> Iterator[tuple[str, str, str, bytes]]:
    """Yield name, media type, file ending and content of each attachment."""
    text = as_text(shown)
    if text:
        yield "Annotated dump", "text/plain", "txt", _encode(text)
    if capture is not None:
        yield "Capture", "application/vnd.tcpdump.pcap", "pcapng", capture
    if again is not None and again.streams:
        yield "Reproducer", "text/x-python", "py", _encode(again.script)
        hexes = [f"{s.connection} {s.hex}" for s in again.streams if s.hex]
        if hexes:
            yield "Bytes to send, hex", "text/plain", "txt", _encode("\n".join(hexes) + "\n")


def _details(case: CaseRecord, category: str, again: Reproducer | None) -> Details:
    if not category:
        return Details()
    trace = [f"observed  {case.observation}", f"expected  {' | '.join(case.accepted) or '-'}"]
    if case.difference is not None:
        found = case.difference
        trace.append(f"differs   {found.field}: expected {found.expected}, found {found.found}")
    if case.note:
        trace.append(f"note      {case.note}")
    if case.repeats.runs > 1:
        trace.append(f"repeats   {case.repeats.same} of {case.repeats.runs} alike")
    if case.repeats.confirmed_by:
        trace.append(f"confirmed by {case.repeats.confirmed_by}")
    if again is not None:
        trace.append(f"repeat    {again.command}")
    return Details(
        message=f"{category}: {case.reason}",
        trace="\n".join(trace),
        known=case.verdict == "known",
        flaky=category == UNSTABLE,
    )


def _description(case: CaseRecord, run: Run) -> Iterator[Markdown]:
    clause = run.catalogue.clause(case.clause) or unknown_clause(case.clause)
    origin = fill(" (origin {})", case.origin) if case.origin else Markdown()
    yield fill("**{}**{} {}: {}", case.level, origin, code(case.clause), clause.law)
    if source(clause):
        yield fill("Source: {}", source(clause))
    conforming = "; ".join(spoken_patterns(case.accepted, case.case))
    yield fill("Conforms: {}", conforming or "nothing listed")
    yield fill("Observed: {}", spoken(case.observation, case.case))
    if case.reading:
        yield fill("Reading: {}", code(case.reading))
    # Allure 3 shows links to other machines alone, but lets a description lead anywhere.
    yield fill("[The clause in the report]({})", address(_place(case)))


def _place(case: CaseRecord) -> str:
    return f"{PAGE}#{anchor('clause', case.clause)}"


def _labels(case: CaseRecord) -> Iterator[Label]:
    protocol, interface = case.case.split("/")[0], "/".join(case.case.split("/")[:2])
    values: Mapping[str, str] = {
        "epic": protocol,
        "feature": interface,
        "story": case.clause,
        "severity": SEVERITIES.get(case.level, "normal"),
        "parentSuite": protocol,
        "suite": interface,
        "subSuite": case.clause,
        "package": interface.replace("/", "."),
        "framework": "wireproof",
        CASE_LABEL: case.case,
    }
    yield from (Label(name, value) for name, value in values.items())
    yield from (Label("tag", word) for word in _tags(case))


def _tags(case: CaseRecord) -> list[str]:
    return [
        case.verdict,
        *[f"origin {case.origin}"] * bool(case.origin),
        *["hazard"] * case.hazard,
    ]


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")
