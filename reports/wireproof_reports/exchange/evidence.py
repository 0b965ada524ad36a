"""A transcript as a report shows it: each step with direction, time and named bytes."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from wireproof_reports.exchange.annotation import (
    Line,
    Part,
    label_parts,
    lines,
    read_bytes,
    space_hex,
)
from wireproof_reports.exchange.failing import (
    CHECKING,
    FROM_TARGET,
    failing_pairs,
    find_differing,
    leaf,
)
from wireproof_reports.exchange.protocol import Namer, report_part
from wireproof_reports.exchange.repeating import SENT
from wireproof_reports.wording import printable, readable, shown_time
from wireproof_spec.record import CaseRecord, DifferenceRecord
from wireproof_spec.step_record import StepRecord, TranscriptRecord

MOST_LINES = 1000
"""Named parts of one step that are shown; a batch of the largest size has some hundreds."""
MOST_LINES_IN_ALL = 1_000_000
"""Lines of all exchanges of one page: about 350 MB of HTML, which no real run comes near."""
FEWEST_LINES = 8
NAMED_BYTES = 1 << 20
TEXT_BYTES = 8192
TEXT_OF_LINE = 16
"""Bytes of an HTTP message that count as a line."""
MOST_STEPS = 60
LAST_STEPS = 20
FIRST_SENT = 256
"""Messages sent on a connection of which the first are asked how the answers are laid out: it is
said at the beginning, and asking all of them takes quadratic time."""
BRIEF_BYTES = 24
BRIEF_TEXT = 40

STDERR = "stderr"
"""The connection of a transcript's steps that hold what a client wrote to stderr."""
_TEXTS = ("stdout", STDERR)

_VERBS = {
    "open": "opened",
    "send": "sent on",
    "receive": "received on",
    "close": "closed",
    "request": "request on",
    "response": "response on",
    "text": "text of",
    "note": "on",
}


@dataclass(frozen=True, slots=True)
class StepView:
    """One step of an exchange as shown; ``way``: sent (`out`), received (`in`), other (`aside`).

    HTTP messages have ``text`` and no lines. ``failing``: the observation rests on this step.
    """

    way: str
    title: str
    time: str
    note: str
    size: int
    lines: tuple[Line, ...] = ()
    text: str = ""
    failing: bool = False


@dataclass(frozen=True, slots=True)
class Exchange:
    """The steps of one case as shown; ``omitted`` steps are left out between head and tail.

    ``behind`` steps after the tail are left out, too.
    """

    steps: tuple[StepView, ...]
    omitted: int = 0
    behind: int = 0

    @property
    def head(self) -> tuple[StepView, ...]:
        """The steps shown before those left out."""
        return self.steps[: len(self.steps) - LAST_STEPS] if self.omitted else self.steps

    @property
    def tail(self) -> tuple[StepView, ...]:
        """The steps shown after those left out."""
        return self.steps[len(self.steps) - LAST_STEPS :] if self.omitted else ()

    @property
    def is_marked(self) -> bool:
        """Return True if a shown line says which value was expected in its place."""
        shown = (line for step in (*self.head, *self.tail) for line in step.lines)
        return any(line.differs for line in shown)


def exchange(
    transcript: TranscriptRecord,
    *,
    protocol: str,
    difference: DifferenceRecord | None = None,
    failing: Collection[int] = (),
    most_lines: int = MOST_LINES,
) -> Exchange:
    """Return the recorded steps of a case with annotated bytes of both directions.

    Of one step at most `most_lines` lines are shown; the last one has the rest of its bytes.

    The first differing field is marked in the answer that has it: in one of the ``failing`` steps,
    on which the observation rests, if they are known.
    """
    namer = received_parts(protocol)
    sent: dict[str, list[bytes]] = {}
    views: list[StepView] = []
    omitted = max(len(transcript.steps) - MOST_STEPS, 0)
    behind = _count_behind(len(transcript.steps), failing) if omitted else 0
    omitted -= behind
    end = MOST_STEPS - LAST_STEPS
    for index, step in enumerate(transcript.steps[: len(transcript.steps) - behind]):
        before = sent.setdefault(step.conn, [])
        if step.kind in SENT and len(before) < FIRST_SENT:
            before.append(read_bytes(step))
        if not end <= index < end + omitted:
            view = _view(step, read_bytes(step), namer, before, most_lines)
            views.append(replace(view, failing=index in failing))
    if difference is not None:
        _mark(views, difference)
    return Exchange(tuple(views), omitted, behind)


@lru_cache(maxsize=16)
def share_lines(steps_of_cases: tuple[int, ...]) -> int:
    """Return how many lines of each step a page shows that has the exchanges of so many steps."""
    steps = sum(min(steps, MOST_STEPS) for steps in steps_of_cases)
    return max(min(MOST_LINES_IN_ALL // max(steps, 1), MOST_LINES), FEWEST_LINES)


def case_exchange(case: CaseRecord, protocol: str, most_lines: int = MOST_LINES) -> Exchange:
    """Return the exchange of a case; if it did not pass, with what failed in it marked."""
    if case.verdict in ("pass", "reading"):
        return exchange(case.transcript, protocol=protocol, most_lines=most_lines)
    answered = {pair.answered for pair in failing_pairs(case, protocol)}
    return exchange(
        case.transcript,
        protocol=protocol,
        difference=first_difference(case, protocol),
        failing=[index for index in answered if index is not None],
        most_lines=most_lines,
    )


def _count_behind(steps: int, failing: Collection[int]) -> int:
    """Return how many steps to leave out at the end, so that the failing one is among the last."""
    last = max(failing, default=0)
    is_left_out = MOST_STEPS - LAST_STEPS <= last < steps - LAST_STEPS
    return min(steps - last - 1, steps - MOST_STEPS) if is_left_out else 0


def talk(transcript: TranscriptRecord) -> str:
    """Return the recorded steps of a case that passed as short text, one line per step."""
    told = [step for step in transcript.steps if not _is_usual(step)]
    head, tail = told[: MOST_STEPS - LAST_STEPS], told[MOST_STEPS - LAST_STEPS :]
    gap = [f"… {len(told) - MOST_STEPS} steps left out"] if len(told) > MOST_STEPS else []
    before, after = (
        [_describe_step(step, read_bytes(step)) for step in part]
        for part in (head, tail[-LAST_STEPS:])
    )
    return "\n".join([*before, *gap, *after])


def received_parts(protocol: str) -> Namer:
    """Return the function of a protocol that labels the parts of received bytes."""
    return report_part(protocol).parts or _make_unnamed


def first_difference(case: CaseRecord, protocol: str) -> DifferenceRecord | None:
    """Return the first differing field of a failing case, as recorded or as the answer shows."""
    presumed = report_part(protocol).presumption
    if case.difference is not None or presumed is None:
        return case.difference
    return presumed(case.observation, case.accepted)


def _make_unnamed(data: bytes, sent: Sequence[bytes]) -> tuple[Part, ...]:
    return ()


def _view(
    step: StepRecord, data: bytes, namer: Namer, sent: Sequence[bytes], most_lines: int
) -> StepView:
    view = _plain(step, data)
    if step.kind in ("request", "response", "text") or step.conn in _TEXTS:
        return replace(view, text=_message_text(data, min(TEXT_OF_LINE * most_lines, TEXT_BYTES)))
    parts = label_parts(step.parts)
    if step.kind in FROM_TARGET and not parts:
        parts = namer(data[:NAMED_BYTES], sent)
    if len(parts) > most_lines:
        parts = parts[: most_lines - 1]
    return replace(view, lines=lines(data, parts))


def _plain(step: StepRecord, data: bytes) -> StepView:
    way = {"send": "out", "request": "out", "receive": "in", "response": "in"}
    return StepView(
        way=way.get(step.kind, "aside"),
        title=f"{_VERBS.get(step.kind, step.kind)} {step.conn}".strip(),
        time=shown_time(step.at_us),
        note=step.note,
        size=len(data),
    )


def _describe_step(step: StepRecord, data: bytes) -> str:
    who = f"{_VERBS.get(step.kind, step.kind).partition(' ')[0]} {step.conn}".strip()
    if not data:
        return f"{who:<11} {printable(step.note.encode())}".rstrip()
    dots = " …" if len(data) > BRIEF_BYTES else ""
    text = readable(data[: BRIEF_TEXT + 1])
    shown = text if len(data) <= BRIEF_TEXT else f"{text[: BRIEF_TEXT - 1]}…"
    return (
        f"{who:<11} {len(data):>5}  {shown:<{BRIEF_TEXT}}  {space_hex(data[:BRIEF_BYTES])}{dots}"
    )


def _is_usual(step: StepRecord) -> bool:
    """Return True for steps of every case: opening a connection, and our close at the end."""
    return step.kind == "open" or (step.kind == "close" and step.note == "by the kit")


def _message_text(data: bytes, most_bytes: int = TEXT_BYTES) -> str:
    """Return an HTTP message as printable text that keeps its line ends."""
    rows = data[:most_bytes].split(b"\n")
    text = "\n".join(printable(row.removesuffix(b"\r")) for row in rows)
    return text if len(data) <= most_bytes else f"{text}\n… {len(data) - most_bytes} more bytes"


def _mark(views: list[StepView], difference: DifferenceRecord) -> None:
    """Mark the line in which an answer first differs, if it can be identified."""
    for index in _list_answers(views, difference):
        view = views[index]
        number = find_differing(view.lines, difference)
        if number is not None:
            marked = replace(view.lines[number], differs=f"expected {difference.expected}")
            after = view.lines[number + 1 :]
            views[index] = replace(view, lines=(*view.lines[:number], marked, *after))
            return


def _list_answers(views: Sequence[StepView], difference: DifferenceRecord) -> list[int]:
    """Return the answers to look for a difference in: the failing ones, if they are known.

    Otherwise those after a deliberate error come first, then the last; before all others come
    those with the value that was found.
    """
    if any(view.failing for view in views):
        return [index for index, view in enumerate(views) if view.failing]
    wrong = [i for i, view in enumerate(views) if any(line.wrong for line in view.lines)]
    start = wrong[-1] if wrong else len(views)
    order = [*range(start, len(views)), *range(start - 1, -1, -1)]
    answers = [i for i in order if views[i].way == "in" and not _is_check(views[:i])]
    return sorted(answers, key=lambda index: not _has_found(views[index], difference))


def _has_found(view: StepView, difference: DifferenceRecord) -> bool:
    same = [line for line in view.lines if leaf(line.label) == leaf(difference.field)]
    return any(line.value == difference.found for line in same)


def _is_check(before: Sequence[StepView]) -> bool:
    """Return True if the next answer belongs to a request that only checks the connection."""
    sent = [view.note for view in before if view.way == "out"]
    return bool(sent) and sent[-1].startswith(CHECKING)
