"""The recorded bytes of a case, annotated: the relevant exchange, or all of it."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from wireproof.view.terminal import columns
from wireproof_kit.decoding.dump import BRIEF, Measure, dump_parts
from wireproof_kit.decoding.printable import clip, escape_unprintable, printable, width, wrap_text
from wireproof_kit.wire.transcript import Part
from wireproof_reports.exchange.annotation import read_bytes
from wireproof_reports.exchange.evidence import FIRST_SENT, first_difference, received_parts
from wireproof_reports.exchange.failing import (
    CHECKING,
    FROM_TARGET,
    NamedPart,
    Pair,
    failing_pairs,
    find_differing,
    find_request,
    fullness,
    leaf,
)
from wireproof_reports.exchange.repeating import SENT
from wireproof_reports.wording import shown_time
from wireproof_spec.protocol import Group, package_of
from wireproof_spec.record import CaseRecord, DifferenceRecord
from wireproof_spec.step_record import StepRecord, TranscriptRecord

TEXT = "text"
"""A step that shows a line of a text, with a part marked in it."""
WHOLE = Measure(rows=1_000_000, parts=1_000_000)
CONTENT = " " * 14
"""Stands before each row of a text below the line that names it."""
TEXT_LINES = 12
FEW_ANSWERS = 3
BY_TARGET = "by the target"
"""How the note of a step begins in which the target closed a connection."""
NO_EVIDENCE = "the case does not say on which answer it rests; see Observation.on"
MOST_SEARCHED = 1000
"""Answers in which the field that differs is looked for, from the last one back; ours."""
DIFFERS = "  <-- differs"
ASIDE = ("heartbeat", "left unread")
"""Notes of received steps that no observation rests on."""
ANSWERS = ("ok", "trace", "error", "response", "closed", "silence", "nonsense", "http", "json")


def key_exchange(case: CaseRecord, protocol: str) -> Iterator[str]:
    """Return the lines that show the part of a case's exchange in which it failed."""
    steps = case.transcript.steps
    shown = _Shower(protocol, first_difference(case, protocol))
    pairs = failing_pairs(case, protocol)
    if not pairs and not any(step.kind in SENT for step in steps):
        yield from _first_text(shown, steps)
    before: int | None = None
    for pair in pairs or _presumed_pairs(case, protocol, shown):
        if pair.asked is not None and pair.asked != before:
            before = pair.asked
            yield from shown.lines("sent", steps, pair.asked)
        yield from _received(shown, steps, pair)
    if not pairs and steps and package_of(Group.SUITES, protocol) is not None:
        yield f"  ({NO_EVIDENCE})"


def _received(shown: "_Shower", steps: Sequence[StepRecord], pair: Pair) -> Iterator[str]:
    """Return the lines of what came, or of what came instead: an end, or nothing in time."""
    if pair.answered is not None and steps[pair.answered].kind in FROM_TARGET:
        yield from shown.lines("received", steps, pair.answered, marked=True)
    elif pair.answered is not None and steps[pair.answered].note:
        end = steps[pair.answered]
        is_other = pair.asked is not None and steps[pair.asked].conn != end.conn
        whose = f"connection {end.conn} " if is_other else ""
        words = f"nothing: {whose}closed " if end.kind == "close" else ""
        yield f"  received  {clip(f'{words}{printable(end.note)}', columns() - 12)}"
    elif pair.asked is not None:
        yield "  received  nothing"


def _presumed_pairs(case: CaseRecord, protocol: str, shown: "_Shower") -> list[Pair]:
    """Return the steps to show for a case that does not say what its observation rests on.

    Of something that did not come, it is what was sent. Of a few answers any may be the one that
    failed, and all are shown; of many, it is the last one.
    """
    steps = case.transcript.steps
    asked = _find_shown_frame(steps, case.observation)
    answered = _find_difference(shown, steps)
    if answered is not None:
        return [Pair(asked, answered)]
    came = [] if case.overdue else _list_answers(steps)
    if not came:
        return [Pair(asked, _find_end(steps, asked))]
    shown_answers = came if len(came) <= FEW_ANSWERS else came[-1:]
    return [Pair(find_request(steps, answer, protocol), answer) for answer in shown_answers]


def _find_end(steps: Sequence[StepRecord], asked: int | None) -> int | None:
    """Return the step in which the target ended a connection, so that nothing more could come."""
    ends = [at for at, step in enumerate(steps) if step.note.startswith(BY_TARGET)]
    return next((at for at in ends if asked is None or at > asked), None)


def _list_answers(steps: Sequence[StepRecord]) -> list[int]:
    """Return the steps that were received, and neither to check the connection nor unread."""
    asked: dict[str, str] = {}
    answers: list[int] = []
    for index, step in enumerate(steps):
        if step.kind in SENT:
            asked[step.conn] = step.note
        is_aside = step.note in ASIDE or asked.get(step.conn, "").startswith(CHECKING)
        if step.kind in FROM_TARGET and not is_aside:
            answers.append(index)
    return answers


def whole_exchange(
    transcript: TranscriptRecord,
    protocol: str,
    *,
    difference: DifferenceRecord | None = None,
    failing: Collection[int] = (),
    all_bytes: bool = False,
) -> Iterator[str]:
    """Return the lines that show every step of an exchange; all bytes with ``all_bytes``.

    The difference is marked in the ``failing`` steps, on which the observation rests, if they are
    known.
    """
    shown = _Shower(protocol, difference, WHOLE if all_bytes else BRIEF)
    for index, step in enumerate(transcript.steps):
        yield from step_line(step)
        if step.kind in (*SENT, *FROM_TARGET, TEXT):
            marked = not failing or index in failing
            yield from shown.lines("", transcript.steps, index, marked=marked)


def show_content(data: bytes, *, rows: int | None) -> Iterator[str]:
    """Yield a body or frame below the line that names it: as text, or in hex if it is none.

    Of more than ``rows`` rows the middle is left out.
    """
    most = WHOLE.rows if rows is None else rows
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = ""
    if "".join(text.split()).isprintable() and text:
        room = columns() - len(CONTENT)
        lines = wrap_text(escape_unprintable(text), columns=room, rows=most)
        yield from (f"{CONTENT}{line}" for line in lines)
        return
    measure = Measure(rows=most, parts=WHOLE.parts, columns=columns())
    yield from dump_parts("", data, measure=measure)


def step_line(step: StepRecord) -> Iterator[str]:
    """Yield the line that says what happened in a step, on which connection and when."""
    verbs = {"send": "sends", "request": "sends", "receive": "gets", "response": "gets"}
    size = f" {step.length} bytes" if step.length else ""
    what = f"{step.conn} {verbs.get(step.kind, step.kind)}{size}".strip()
    note = f"  {clip(printable(step.note), columns() - 36)}" if step.note else ""
    yield f"  {shown_time(step.at_us):>9}  {what}{note}"


class _Shower:
    """Formats steps of one transcript and marks the part that differs."""

    def __init__(
        self, protocol: str, difference: DifferenceRecord | None, measure: Measure = BRIEF
    ) -> None:
        self._namer = received_parts(protocol)
        self._difference = difference
        self._measure = replace(measure, columns=columns())
        self._first_sent: dict[str, list[tuple[int, bytes]]] | None = None

    def lines(
        self, title: str, steps: Sequence[StepRecord], index: int, *, marked: bool = False
    ) -> list[str]:
        """Return the lines of one step's bytes; if ``marked``, with the part that differs."""
        step = steps[index]
        data = read_bytes(step)
        if step.kind in ("request", "response"):
            return _text(title, data, self._difference if marked else None)
        if step.kind == TEXT:
            return _marked_text(title, data, step.parts)
        parts = self.parts(steps, index, marked=marked)
        return dump_parts(title, data, parts, measure=self._measure)

    def parts(self, steps: Sequence[StepRecord], index: int, *, marked: bool = True) -> list[Part]:
        """Return a step's parts: as recorded, or named by what the protocol knows."""
        step = steps[index]
        if step.parts or step.kind not in FROM_TARGET:
            return [Part(*part) for part in step.parts]
        named = self._namer(read_bytes(step), self._list_sent(steps, index))
        sought = self._difference if marked else None
        differing = None if sought is None else find_differing(named, sought)
        return [
            Part(part.offset, part.length, self._label(part, differs=number == differing))
            for number, part in enumerate(named)
        ]

    def _label(self, part: NamedPart, *, differs: bool) -> str:
        text = f"{part.label} = {part.value}" if part.value else part.label
        return f"{clip(text, self._measure.room - len(DIFFERS))}{DIFFERS}" if differs else text

    def _list_sent(self, steps: Sequence[StepRecord], index: int) -> list[bytes]:
        """Return what was sent first on a step's connection before it."""
        if self._first_sent is None:
            self._first_sent = {}
            for at, step in enumerate(steps):
                of_it = self._first_sent.setdefault(step.conn, [])
                if step.kind == "send" and len(of_it) < FIRST_SENT:
                    of_it.append((at, read_bytes(step)))
        return [data for at, data in self._first_sent[steps[index].conn] if at < index]

    def has_difference(self, steps: Sequence[StepRecord], index: int) -> bool:
        """Return True if this step contains the field that differs."""
        return any(part.label.endswith(DIFFERS) for part in self.parts(steps, index))


def _find_shown_frame(steps: Sequence[StepRecord], observation: str) -> int | None:
    """Return the step to show: a deliberate error, the answered request, or the longest frame."""
    sent = [index for index, step in enumerate(steps) if step.kind in SENT]
    wrong = [index for index in sent if any(part[3] for part in steps[index].parts)]
    plain = [index for index in sent if not steps[index].note.startswith(CHECKING)] or sent
    if wrong or not plain:
        return wrong[-1] if wrong else None
    if observation.partition(":")[0].partition(",")[0] in ANSWERS:
        return plain[-1]
    return max(plain, key=lambda index: (fullness(steps[index]), index))


def _find_difference(shown: _Shower, steps: Sequence[StepRecord]) -> int | None:
    received = [index for index, step in enumerate(steps) if step.kind == "receive"]
    latest = reversed(received[-MOST_SEARCHED:])
    return next((index for index in latest if shown.has_difference(steps, index)), None)


def _first_text(shown: _Shower, steps: Sequence[StepRecord]) -> list[str]:
    texts = [index for index, step in enumerate(steps) if step.kind == TEXT]
    return shown.lines("text", steps, texts[0]) if texts else []


def _marked_text(
    title: str, data: bytes, parts: Sequence[tuple[int, int, str, bool]]
) -> list[str]:
    """Return one line of text, and below it a mark where the part begins."""
    lines = [f"  {title:<10}{clip(_format_bytes(data), columns() - 12)}".rstrip()]
    for offset, *_ in parts:
        lines.append(" " * (12 + width(_format_bytes(data[:offset]))) + "^")
    return lines


def _format_bytes(data: bytes) -> str:
    return printable(data.decode("utf-8", "backslashreplace"))


def _text(title: str, data: bytes, difference: DifferenceRecord | None = None) -> list[str]:
    """Return an HTTP message as text; the value that differs is in it, with a mark below."""
    rows = data[:8192].decode("utf-8", "backslashreplace").splitlines()
    shown = [printable(row) for row in rows[:TEXT_LINES]] or ["(no bytes)"]
    if len(rows) > TEXT_LINES or len(data) > 8192:
        shown.append(f"… {len(data)} bytes in all")
    lines: list[str] = []
    room = columns() - 12
    is_marked = False
    for number, row in enumerate(shown):
        at = -1 if difference is None or is_marked else _find_value(row, difference)
        is_marked |= at >= 0
        start = max(at - room + 28, 0)
        cut = f"…{row[start + 1 :]}" if start else row
        lines.append(f"  {'' if number else title:<10}{clip(cut, room)}".rstrip())
        if at >= 0:
            lines.append(" " * (12 + width(cut[: at - start])) + "^ differs")
    return lines


def _find_value(row: str, difference: DifferenceRecord) -> int:
    """Return where a row of JSON has the value that differs, behind its name; -1 if nowhere."""
    name = row.find(f'"{leaf(difference.field)}"')
    value = row.find(difference.found, max(name, 0)) if difference.found else -1
    return value if name >= 0 and value >= 0 else name
