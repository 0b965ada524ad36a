"""The course of a recorded case with a client as text, one line for each event."""

from collections.abc import Iterator, Mapping

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
    Marked,
    Told,
)
from wireproof_kit.clients.story import read_story
from wireproof_kit.nsq.clients.decoder import NsqDecoder
from wireproof_kit.nsq.clients.events import (
    Commanded,
    Magic,
    Malformed,
    Requested,
    Responded,
    Sent,
)
from wireproof_spec.driver.lines import Failure, Result
from wireproof_spec.nsq.frame import (
    FRAME_TYPE_ERROR,
    FRAME_TYPE_MESSAGE,
    FRAME_TYPE_RESPONSE,
)
from wireproof_spec.record import TranscriptRecord
from wireproof_spec.wording import show_value

_ID = slice(10, 26)
_NOTES: Mapping[type[Event], str] = {
    Expired: "nothing more came in time",
    Flooded: "too much came",
    Marked: "time is over",
}
_TEXT = 48


def tell(transcript: TranscriptRecord) -> Iterator[str]:
    """Yield the course of a case: time, sender, receiver and content."""
    for event in read_story(transcript, NsqDecoder()).events:
        told = tell_event(event)
        if told is not None:
            yield f"{event.at:7.3f} s  {told}"


def tell_event(event: Event) -> str | None:
    """Return an event as text; None for one that says nothing."""
    if isinstance(event, Requested | Commanded | Magic | Malformed):
        return f"client -> {event.conn:<11} {_describe_sent(event)}"
    if isinstance(event, Responded | Sent):
        return f"client <- {event.conn:<11} {_describe_answer(event)}"
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
    found = next((text for kind, text in _NOTES.items() if isinstance(event, kind)), None)
    return f"kit                   {found}" if found else None


def _describe_sent(event: Requested | Commanded | Magic | Malformed) -> str:
    if isinstance(event, Requested):
        pairs = [(name, value) for name, values in event.query.items() for value in values]
        query = "&".join(f"{name}={value}" for name, value in pairs)
        return f"{event.method} {event.path}{'?' if query else ''}{query}"
    if isinstance(event, Magic):
        return "magic"
    if isinstance(event, Malformed):
        return f"no command: {event.error}"
    words = " ".join([event.name, event.message_id.hex(), *event.words]).replace("  ", " ")
    return f"{words.strip()}{f' + {len(event.body)} bytes' if event.body else ''}"


def _describe_answer(event: Responded | Sent) -> str:
    if isinstance(event, Responded):
        head, _, body = event.data.partition(b"\r\n\r\n")
        status = head.split(b" ", 2)[1:2]
        return f"{b''.join(status).decode('latin-1')}, {len(body)} bytes"
    if event.frame_type == FRAME_TYPE_MESSAGE:
        return f"message {event.data[_ID].hex()}"
    kinds = {FRAME_TYPE_RESPONSE: "response", FRAME_TYPE_ERROR: "error"}
    kind = kinds.get(event.frame_type, f"frame of type {event.frame_type}")
    return f"{kind} {show_value(event.data, width=_TEXT)}"


def _outcome(event: Answered) -> str:
    if isinstance(event.answer, Result):
        return "ok"
    if isinstance(event.answer, Failure):
        return f"error, {show_value(event.answer.message, width=_TEXT)}"
    return f"{event.answer.what} is unsupported"
