"""The recorded bytes of a case, annotated: the relevant exchange, or all of it."""

from collections.abc import Iterator, Sequence

from wireproof_kit.decoding.dump import BRIEF, Measure, dump_parts
from wireproof_kit.decoding.printable import clip, printable, width
from wireproof_kit.wire.transcript import Part
from wireproof_reports.exchange.evidence import FIRST_SENT, read_bytes, received_parts
from wireproof_reports.exchange.repeating import SENT
from wireproof_reports.wording import shown_time
from wireproof_spec.record import CaseRecord, DifferenceRecord, StepRecord, TranscriptRecord

FROM_TARGET = ("receive", "response")
TEXT = "text"
"""A step that shows a line of a text, with a part marked in it."""
WHOLE = Measure(rows=1_000_000, parts=1_000_000)
TEXT_LINES = 12
MOST_SEARCHED = 1000
"""Answers in which the field that differs is looked for, from the last one back; ours."""
GOES_ON = "one more "
"""How the note begins of a frame that only shows that the connection goes on."""
DIFFERS = "  <-- differs"
ANSWERS = ("ok", "trace", "error", "response", "closed", "silence", "nonsense", "http", "json")


def key_exchange(case: CaseRecord, protocol: str) -> Iterator[str]:
    """Return the lines that show the part of a case's exchange in which it failed."""
    steps = case.transcript.steps
    shown = _Shower(protocol, case.difference)
    asked = _find_shown_frame(steps, case.observation)
    answered = _find_difference(shown, steps)
    if answered is None:
        answered = _answer(steps, asked)
    if asked is not None:
        yield from shown.lines("sent", steps, asked)
    if answered is not None:
        yield from shown.lines("received", steps, answered)
    elif asked is not None:
        yield "  received  nothing"
    else:
        yield from _first_text(shown, steps)


def whole_exchange(
    transcript: TranscriptRecord,
    protocol: str,
    *,
    difference: DifferenceRecord | None = None,
    all_bytes: bool = False,
) -> Iterator[str]:
    """Return the lines that show every step of an exchange; all bytes with ``all_bytes``."""
    shown = _Shower(protocol, difference, WHOLE if all_bytes else BRIEF)
    for index, step in enumerate(transcript.steps):
        yield from step_line(step)
        if step.kind in (*SENT, *FROM_TARGET, TEXT):
            yield from shown.lines("", transcript.steps, index)


def step_line(step: StepRecord) -> Iterator[str]:
    """Yield the line that says what happened in a step, on which connection and when."""
    verbs = {"send": "sends", "request": "sends", "receive": "gets", "response": "gets"}
    size = f" {step.length} bytes" if step.length else ""
    what = f"{step.conn} {verbs.get(step.kind, step.kind)}{size}".strip()
    note = f"  {clip(printable(step.note), 44)}" if step.note else ""
    yield f"  {shown_time(step.at_us):>9}  {what}{note}"


class _Shower:
    """Formats steps of one transcript and marks the part that differs."""

    def __init__(
        self, protocol: str, difference: DifferenceRecord | None, measure: Measure = BRIEF
    ) -> None:
        self._namer = received_parts(protocol)
        self._difference = difference
        self._measure = measure
        self._first_sent: dict[str, list[tuple[int, bytes]]] | None = None

    def lines(self, title: str, steps: Sequence[StepRecord], index: int) -> list[str]:
        """Return the lines of one step's bytes."""
        step = steps[index]
        data = read_bytes(step)
        if step.kind in ("request", "response"):
            return _text(title, data)
        if step.kind == TEXT:
            return _marked_text(title, data, step.parts)
        parts = self.parts(steps, index)
        return dump_parts(title, data, parts, measure=self._measure)

    def parts(self, steps: Sequence[StepRecord], index: int) -> list[Part]:
        """Return a step's parts: as recorded, or named by what the protocol knows."""
        step = steps[index]
        if step.parts or step.kind not in FROM_TARGET:
            return [Part(*part) for part in step.parts]
        named = self._namer(read_bytes(step), self._list_sent(steps, index))
        return [
            Part(part.offset, part.length, self._label(part.label, part.value)) for part in named
        ]

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

    def _label(self, label: str, value: str) -> str:
        text = f"{label} = {value}" if value else label
        if self._difference is None:
            return text
        same = label.rpartition(".")[2] == self._difference.field.rpartition(".")[2]
        return f"{clip(text, 27)}{DIFFERS}" if same else text


def _find_shown_frame(steps: Sequence[StepRecord], observation: str) -> int | None:
    """Return the step to show: a deliberate error, the answered request, or the longest frame."""
    sent = [index for index, step in enumerate(steps) if step.kind in SENT]
    wrong = [index for index in sent if any(part[3] for part in steps[index].parts)]
    plain = [index for index in sent if not steps[index].note.startswith(GOES_ON)] or sent
    if wrong or not plain:
        return wrong[-1] if wrong else None
    if observation.partition(":")[0].partition(",")[0] in ANSWERS:
        return plain[-1]
    return max(plain, key=lambda index: (_fullness(steps[index]), index))


def _fullness(step: StepRecord) -> int:
    return 99 if step.kind == "request" else len(step.parts)


def _answer(steps: Sequence[StepRecord], asked: int | None) -> int | None:
    if asked is None:
        return None
    for index in range(asked + 1, len(steps)):
        step = steps[index]
        if step.conn == steps[asked].conn:
            return index if step.kind in FROM_TARGET else None
    return None


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
    lines = [f"  {title:<10}{clip(_format_bytes(data), 68)}".rstrip()]
    for offset, *_ in parts:
        lines.append(" " * (12 + width(_format_bytes(data[:offset]))) + "^")
    return lines


def _format_bytes(data: bytes) -> str:
    return printable(data.decode("utf-8", "backslashreplace"))


def _text(title: str, data: bytes) -> list[str]:
    """Return an HTTP message as text."""
    rows = data[:8192].decode("utf-8", "backslashreplace").splitlines()
    shown = [printable(row) for row in rows[:TEXT_LINES]] or ["(no bytes)"]
    if len(rows) > TEXT_LINES or len(data) > 8192:
        shown.append(f"… {len(data)} bytes in all")
    heads = [title, *[""] * (len(shown) - 1)]
    return [
        f"  {head:<10}{clip(row, 68)}".rstrip() for head, row in zip(heads, shown, strict=True)
    ]
