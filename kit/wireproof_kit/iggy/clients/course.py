"""The course of a recorded case with an Iggy client as text, one line for each event."""

from collections.abc import Iterator

from wireproof_kit.clients import course
from wireproof_kit.clients.events import Event
from wireproof_kit.iggy.clients.decoder import HTTP, IggyDecoder
from wireproof_kit.iggy.clients.events import Asked, Replied, Responded
from wireproof_spec.iggy.apache.evictions import REASONS
from wireproof_spec.iggy.apache.frames import Eviction, Frame, decode_answer
from wireproof_spec.iggy.apache.header import HEADER_SIZE
from wireproof_spec.iggy.apache.statuses import STATUSES as apache_statuses
from wireproof_spec.iggy.frame import RESPONSE_HEAD_SIZE
from wireproof_spec.iggy.kinds import OFFSET, STRATEGIES, TIMESTAMP
from wireproof_spec.iggy.statuses import STATUSES
from wireproof_spec.step_record import TranscriptRecord
from wireproof_spec.wire_error import WireError


def tell(transcript: TranscriptRecord) -> Iterator[course.CourseLine]:
    """Yield one line for each event of a client case: time, sender, receiver and content."""
    return course.tell(
        transcript,
        IggyDecoder(),
        sent=_describe_sent,
        answer=_describe_answer,
        content=_read_content,
    )


def tell_event(event: Event) -> str | None:
    """Return an event as text; None for one that says nothing."""
    return course.tell_event(event, _describe_sent, _describe_answer)


def _describe_sent(event: Event) -> str | None:
    if not isinstance(event, Asked):
        return None
    if event.poll is not None:
        value = f" {event.poll.value}" if event.poll.strategy in (OFFSET, TIMESTAMP) else ""
        strategy = STRATEGIES.get(event.poll.strategy, "")
        return f"{event.command} {strategy}{value}, count {event.poll.count}"
    if event.sending is not None:
        return f"{event.command}, {len(event.sending.messages)} messages"
    return event.command


def _read_content(event: Event) -> bytes:
    """Return the body of an answer."""
    if not isinstance(event, Responded):
        return b""
    if event.peer.startswith(HTTP):
        return event.data.partition(b"\r\n\r\n")[2]
    return event.data[RESPONSE_HEAD_SIZE:]


def _describe_answer(event: Event) -> str | None:
    if not isinstance(event, Responded):
        return None
    if isinstance(event, Replied):
        return _describe_reply(event.data)
    if event.peer.startswith(HTTP):
        head, _, body = event.data.partition(b"\r\n\r\n")
        status = b"".join(head.split(b" ", 2)[1:2])
        return f"{status.decode('latin-1')}, {len(body)} bytes"
    code = int.from_bytes(event.data[:4], "little")
    name = STATUSES.get(code, "ok" if code == 0 else "an unknown status")
    return f"status {code} ({name}), {max(len(event.data) - RESPONSE_HEAD_SIZE, 0)} bytes"


def _describe_reply(data: bytes) -> str:
    """Return what an answer of generation apache is; one that cannot be read has its length."""
    try:
        answer = decode_answer(Frame(data[:HEADER_SIZE], data[HEADER_SIZE:]))
    except (WireError, IndexError):
        return f"no frame, {len(data)} bytes"
    if isinstance(answer, Eviction):
        reason = answer.header.reason
        return f"evicted, reason {reason} ({REASONS.get(reason, 'unknown')})"
    status = answer.header.status
    return f"status {status} ({apache_statuses.get(status, 'unknown')}), {len(answer.body)} bytes"
