"""A transcript as a report shows it: each step with its direction, time and named bytes."""

import importlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from wireproof_reports.annotation import Line, Part, clipped, labelled, lines, spaced
from wireproof_reports.wording import printable, shown_time
from wireproof_spec.record import DifferenceRecord, StepRecord, TranscriptRecord

MOST_STEPS = 60
LAST_STEPS = 20
BRIEF_BYTES = 32

Namer = Callable[[bytes, Sequence[bytes]], tuple[Part, ...]]
"""Names the parts of received bytes, knowing all that was sent on that connection before."""

RECEIVED_PARTS: dict[str, str] = {"nsq": "wireproof_reports.nsq.received:received_parts"}
"""Protocol → where its received frames are taken apart; imported when used."""

_VERBS = {
    "open": "opened",
    "send": "sent on",
    "receive": "received on",
    "close": "closed",
    "request": "request on",
    "response": "response on",
    "note": "on",
}
_TO_TARGET = ("send", "request")
_FROM_TARGET = ("receive", "response")


@dataclass(frozen=True, slots=True)
class StepView:
    """One step; ``way`` is `out`, `in` or `aside`. ``text`` stands for HTTP, in place of lines."""

    way: str
    title: str
    time: str
    note: str
    size: int
    lines: tuple[Line, ...] = ()
    text: str = ""
    brief: str = ""
    hex: str = ""


@dataclass(frozen=True, slots=True)
class Exchange:
    """The steps of one case; ``omitted`` of them are left out before the last ones."""

    steps: tuple[StepView, ...]
    omitted: int = 0

    @property
    def head(self) -> tuple[StepView, ...]:
        """The steps before those left out."""
        return self.steps[: len(self.steps) - LAST_STEPS] if self.omitted else self.steps

    @property
    def tail(self) -> tuple[StepView, ...]:
        """The steps after those left out."""
        return self.steps[len(self.steps) - LAST_STEPS :] if self.omitted else ()


def exchange(
    transcript: TranscriptRecord,
    *,
    protocol: str,
    difference: DifferenceRecord | None = None,
) -> Exchange:
    """Return a transcript with annotated bytes of both directions.

    The first differing field is marked in the last answer that has it.
    """
    namer = received_parts(protocol)
    sent: dict[str, list[bytes]] = {}
    views: list[StepView] = []
    for step in transcript.steps:
        data = recorded(step)
        if step.kind in _TO_TARGET:
            sent.setdefault(step.conn, []).append(data)
        views.append(_view(step, data, namer, sent.get(step.conn, [])))
    if difference is not None:
        _mark(views, difference)
    return _shortened(views)


def brief_exchange(transcript: TranscriptRecord) -> Exchange:
    """Return a transcript with one line a step: enough to see what a passing case did."""
    views = [_brief(step, recorded(step)) for step in transcript.steps]
    return _shortened(views)


def recorded(step: StepRecord) -> bytes:
    """Return a step's bytes; nothing when the record of them is damaged."""
    try:
        return step.data()
    except ValueError:
        return b""


def received_parts(protocol: str) -> Namer:
    """Return what names the parts of this protocol's received bytes."""
    place = RECEIVED_PARTS.get(protocol)
    if place is None:
        return _unnamed
    module, _, name = place.partition(":")
    return cast(Namer, getattr(importlib.import_module(module), name))


def _unnamed(data: bytes, sent: Sequence[bytes]) -> tuple[Part, ...]:
    return ()


def _view(step: StepRecord, data: bytes, namer: Namer, sent: Sequence[bytes]) -> StepView:
    view = _plain(step, data)
    if step.kind in ("request", "response"):
        return replace(view, text=_message_text(data))
    parts = labelled(step.parts)
    if step.kind in _FROM_TARGET and not parts:
        parts = namer(data, sent)
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


def _brief(step: StepRecord, data: bytes) -> StepView:
    dots = " …" if len(data) > BRIEF_BYTES else ""
    return replace(
        _plain(step, data),
        brief=clipped(printable(data[:400]), 90),
        hex=spaced(data[:BRIEF_BYTES]) + dots,
    )


def _message_text(data: bytes) -> str:
    """Return an HTTP message as text, its line ends kept, everything else made printable."""
    rows = data[:8192].split(b"\n")
    text = "\n".join(printable(row.removesuffix(b"\r")) for row in rows)
    return text if len(data) <= 8192 else f"{text}\n… {len(data) - 8192} more bytes"


def _mark(views: list[StepView], difference: DifferenceRecord) -> None:
    for index in range(len(views) - 1, -1, -1):
        view = views[index]
        place = _place(view.lines, difference) if view.way == "in" else None
        if place is not None:
            due = f"{difference.expected} was due"
            marked = replace(view.lines[place], differs=due)
            views[index] = replace(
                view, lines=(*view.lines[:place], marked, *view.lines[place + 1 :])
            )
            return


def _place(shown: Sequence[Line], difference: DifferenceRecord) -> int | None:
    for index, line in enumerate(shown):
        if line.label and line.label.rpartition(".")[2] == difference.field.rpartition(".")[2]:
            return index
    return None


def _shortened(views: Iterable[StepView]) -> Exchange:
    steps = tuple(views)
    if len(steps) <= MOST_STEPS:
        return Exchange(steps)
    kept = steps[: MOST_STEPS - LAST_STEPS] + steps[-LAST_STEPS:]
    return Exchange(kept, omitted=len(steps) - MOST_STEPS)
