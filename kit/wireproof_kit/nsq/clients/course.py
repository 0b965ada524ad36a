"""The course of a recorded case with an NSQ client as text, one line for each event."""

from collections.abc import Iterator

from wireproof_kit.clients import course
from wireproof_kit.clients.events import Event
from wireproof_kit.nsq.clients.decoder import NsqDecoder
from wireproof_kit.nsq.clients.events import Commanded, Magic, Requested, Responded, Sent
from wireproof_spec.nsq.frame import (
    FRAME_TYPE_ERROR,
    FRAME_TYPE_MESSAGE,
    FRAME_TYPE_RESPONSE,
)
from wireproof_spec.step_record import TranscriptRecord
from wireproof_spec.wording import show_value

_SHOWN = {FRAME_TYPE_RESPONSE, FRAME_TYPE_ERROR}
"""Frames with a text that their line shows."""
_ID = slice(10, 26)


def tell(transcript: TranscriptRecord) -> Iterator[course.CourseLine]:
    """Yield one line for each event of a client case: time, sender, receiver and content."""
    return course.tell(
        transcript,
        NsqDecoder(),
        sent=_describe_sent,
        answer=_describe_answer,
        content=_read_content,
    )


def tell_event(event: Event) -> str | None:
    """Return an event of a client case as text; None for one without content."""
    return course.tell_event(event, _describe_sent, _describe_answer)


def _describe_sent(event: Event) -> str | None:
    if isinstance(event, Requested):
        pairs = [(name, value) for name, values in event.query.items() for value in values]
        query = "&".join(f"{name}={value}" for name, value in pairs)
        return f"{event.method} {event.path}{'?' if query else ''}{query}"
    if isinstance(event, Magic):
        return "magic"
    if not isinstance(event, Commanded):
        return None
    words = " ".join([event.name, event.message_id.hex(), *event.words]).replace("  ", " ")
    return f"{words.strip()}{f' + {len(event.body)} bytes' if event.body else ''}"


def _read_content(event: Event) -> bytes:
    """Return the bytes of an event that its line does not show whole."""
    if isinstance(event, Responded):
        return event.data.partition(b"\r\n\r\n")[2]
    if isinstance(event, Commanded):
        return event.body
    if isinstance(event, Sent) and event.frame_type not in _SHOWN:
        return event.data
    return b""


def _describe_answer(event: Event) -> str | None:
    if isinstance(event, Responded):
        head, _, body = event.data.partition(b"\r\n\r\n")
        status = head.split(b" ", 2)[1:2]
        return f"{b''.join(status).decode('latin-1')}, {len(body)} bytes"
    if not isinstance(event, Sent):
        return None
    if event.frame_type == FRAME_TYPE_MESSAGE:
        return f"message {event.data[_ID].hex()}"
    kinds = {FRAME_TYPE_RESPONSE: "response", FRAME_TYPE_ERROR: "error"}
    kind = kinds.get(event.frame_type, f"frame of type {event.frame_type}")
    return f"{kind} {show_value(event.data, width=course.TEXT)}"
