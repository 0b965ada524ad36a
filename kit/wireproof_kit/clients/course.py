"""The course of a recorded case with a client: a line for each event, and the bytes in it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from wireproof_kit.clients.events import (
    Answered,
    BadLine,
    Connected,
    Disconnected,
    Ended,
    Event,
    Expired,
    Flooded,
    Greeted,
    Malformed,
    Marked,
    Told,
)
from wireproof_kit.clients.story import DRIVER, KIT, PROCESS, Decoder, read_story
from wireproof_spec.driver.lines import Failure, Result
from wireproof_spec.step_record import TranscriptRecord
from wireproof_spec.wording import show_value

_NOTES: Mapping[type[Event], str] = {
    Flooded: "too much came",
    Marked: "the period in which the case looks at the client is over",
}
TEXT = 48
Describe = Callable[[Event], str | None]
"""Returns the content of a protocol's event as text, or None for other events."""


@dataclass(frozen=True, slots=True)
class CourseLine:
    """What happened at one time of a case with a client: a line of text, and the bytes in it."""

    text: str
    data: bytes = b""
    """The body or frame that the line counts or cuts: what a client could not bear is in it."""
    conn: str = ""
    """The connection; empty for a line on the client's process, its driver or the kit."""


def tell(
    transcript: TranscriptRecord,
    decoder: Decoder,
    *,
    sent: Describe,
    answer: Describe,
    content: Callable[[Event], bytes],
) -> Iterator[CourseLine]:
    """Yield one line for each event of a client case: time, sender, receiver and content.

    ``sent`` describes what the client sent, ``answer`` what the kit's servers sent. ``content``
    returns the bytes that either of them had in it, such as the body of an HTTP answer.
    """
    for event in read_story(transcript, decoder).events:
        told = tell_event(event, sent, answer)
        if told is not None:
            conn = "" if event.conn in (DRIVER, PROCESS, KIT) else event.conn
            yield CourseLine(f"{event.at:7.3f} s  {told}", content(event), conn)


def tell_event(event: Event, sent: Describe, answer: Describe) -> str | None:
    """Return an event of a client case as text; None for one without content."""
    if isinstance(event, Malformed):
        return f"client -> {event.conn:<11} malformed: {event.error}"
    if (text := sent(event)) is not None:
        return f"client -> {event.conn:<11} {text}"
    if (text := answer(event)) is not None:
        return f"client <- {event.conn:<11} {text}"
    if isinstance(event, Connected):
        return f"client -> {event.conn:<11} connects"
    if isinstance(event, Disconnected):
        return f"{event.by:<6} -- {event.conn:<11} closes"
    return _tell_process(event)


def _tell_process(event: Event) -> str | None:
    if isinstance(event, Greeted):
        return f"driver                greets as {event.hello.name} {event.hello.version}"
    if isinstance(event, Answered):
        return f"driver                answers {event.op}: {_outcome(event)}"
    if isinstance(event, Told):
        return f"driver                tells of {event.event.name}"
    if isinstance(event, BadLine):
        return f"driver                {event.fault}"
    if isinstance(event, Ended):
        return f"client                ends with exit code {event.code}"
    if isinstance(event, Expired):
        limit = f" of {event.limit}" if event.limit else ""
        return f"kit                   the time limit{limit} is over; the awaited did not come"
    found = next((text for kind, text in _NOTES.items() if isinstance(event, kind)), None)
    return f"kit                   {found}" if found else None


def _outcome(event: Answered) -> str:
    if isinstance(event.answer, Result):
        return "ok"
    if isinstance(event.answer, Failure):
        return f"error, {show_value(event.answer.message, width=TEXT)}"
    return f"{event.answer.what} is unsupported"
