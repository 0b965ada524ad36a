"""Turns responses and polled messages into observation tokens of the catalogue.

Answers: ``ok``, ``error:STATUS``, ``closed``, ``silence``, ``nonsense``; then perhaps ``open``,
``closed``, ``broken`` or ``stuck`` for this connection, ``others-open`` for another one.
Deliveries: ``delivered:as-sent``, ``delivered:FIELD`` (the first that differs),
``delivered:none``, ``delivered:undecodable``, ``missing``; ``absent``, ``unwanted``,
``no-sentinel``. HTTP: ``http:STATUS,CODE``, a hyphen where no error's name is told,
``http:silence``, ``http:closed``, ``http:nonsense``.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias, TypeVar

from wireproof_kit.iggy.observe.polled import Polled, PolledMessage
from wireproof_kit.iggy.wire.answers import Answer, ErrorStatus, Nonsense, Silent
from wireproof_kit.iggy.wire.http import error_of
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_kit.wire.http import TransferResult
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.checksum import payload_checksum
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.message import Message
from wireproof_spec.iggy.states import AVAILABLE, state_name
from wireproof_spec.iggy.statuses import STATUSES
from wireproof_spec.wire_error import WireError
from wireproof_spec.wording import show_value

T = TypeVar("T")
Compare: TypeAlias = Callable[[SentMessage, PolledMessage], Difference | None]
"""Returns the first difference between a polled message and the sent one."""

STUCK = "stuck"
AS_SENT = "delivered:as-sent"
MISSING = "missing"


def observe(answer: Answer, *, then: str | None = None) -> Observation:
    """Return the observation for a response and the state of the connection after it."""
    observation = _observe(answer).on(answer)
    if then is None or answer.kind == "closed":
        return observation
    overdue = observation.overdue or then.endswith(STUCK)
    return replace(observation.then(then), overdue=overdue)


def _observe(answer: Answer) -> Observation:
    if isinstance(answer, ErrorStatus):
        note = STATUSES.get(answer.status, "")
        return observed(f"error:{answer.status}", note=note)
    if isinstance(answer, Nonsense):
        return observed("nonsense", difference=difference_of(answer.fault))
    words = {"done": "ok", "closed": "closed", "silent": "silence"}
    return observed(words[answer.kind], overdue=isinstance(answer, Silent))


def observe_http(answer: TransferResult) -> Observation:
    """Return the observation for an HTTP response: its status and the name of an error."""
    if answer.failure is not None:
        return observed(f"http:{answer.failure}", overdue=answer.failure == "silence").on(answer)
    name = error_of(answer)[1]
    word = name if re.fullmatch(r"[a-z0-9_]+", name) else "-"
    return observed(f"http:{answer.status},{word}").on(answer)


def observe_unread(polled: Polled) -> Observation | None:
    """Return the observation for an unreadable poll response; None when it is readable."""
    if polled.is_readable:
        return None
    if polled.fault is not None:
        difference = difference_of(polled.fault)
        return observed("delivered:undecodable", difference=difference).on(polled.answer)
    return observe(polled.answer)


def observe_messages(
    polled: Polled,
    sent: Sequence[SentMessage],
    compare: Compare | None = None,
    *,
    ordered: bool = True,
) -> Observation:
    """Compare polled messages with sent ones; ``missing`` if there are too few.

    ``compare`` compares one message; by default the sent fields are compared. Unless the messages
    must be ``ordered``, each is compared with the sent message of the same payload: no text says
    in which order a server stores the messages of a request.
    """
    unread = observe_unread(polled)
    if unread is not None:
        return unread
    look = compare or as_sent
    found = polled.seen if ordered else match_sent(sent, polled.seen)
    for number, (due, seen) in enumerate(zip(sent, found, strict=False)):
        difference = look(due, seen)
        if difference is not None:
            note = f"message {number + 1} of {len(sent)}"
            value = f"delivered:{difference.field}"
            return observed(value, difference=difference, note=note).on(seen)
    return _observe_number(polled, len(sent)).on(polled.answer)


def _observe_number(polled: Polled, due: int) -> Observation:
    came = len(polled.seen)
    if came < due:
        return observed(MISSING, overdue=True, note=f"{came} of {due} came")
    if came > due:
        return observed("delivered:more", note=f"expected {due} messages, received {came}")
    return observed(AS_SENT)


def match_sent(sent: Sequence[SentMessage], seen: Sequence[PolledMessage]) -> list[PolledMessage]:
    """Return polled messages in the order of the sent messages with equal payloads.

    Polled messages without a sent counterpart take the remaining places, in the order of the poll.
    """
    return match_by(sent, seen, lambda due, found: due.payload == found.message.payload)


def match_by(
    sent: Sequence[SentMessage], seen: Sequence[T], is_match: Callable[[SentMessage, T], bool]
) -> list[T]:
    """Return polled messages in the order of the sent messages that ``is_match`` pairs them with.

    Polled messages without a sent counterpart take the remaining places, in the order of the poll.
    """
    left = [*seen]
    places: list[T | None] = []
    for due in sent:
        found = next((each for each in left if is_match(due, each)), None)
        if found is not None:
            left.remove(found)
        places.append(found)
    rest = iter(left)
    filled = (next(rest, None) if place is None else place for place in places)
    return [*(each for each in filled if each is not None), *rest]


def as_sent(sent: SentMessage, seen: PolledMessage) -> Difference | None:
    """Return the first field that differs from the one sent: id (unless 0), headers, payload."""
    message = seen.message
    if sent.id and sent.id != message.id:
        return make_difference("id", seen, str(sent.id), str(message.id))
    if as_set(sent.headers) != as_set(message.headers):
        return make_difference(
            "headers", seen, headers_text(sent.headers), headers_text(message.headers)
        )
    if sent.payload != message.payload:
        return make_difference(
            "payload", seen, show_value(sent.payload), show_value(message.payload)
        )
    return None


def as_drawn(sent: SentMessage, seen: PolledMessage) -> Difference | None:
    """Return the first wrong field of a polled message, in the order of the published layout.

    The state must be available, and the checksum that of the payload. Any offset and any timestamp
    is right: no text says where offsets begin.
    """
    message = seen.message
    if message.state != AVAILABLE:
        return make_difference("state", seen, state_text(AVAILABLE), state_text(message.state))
    due = payload_checksum(sent.payload)
    if message.checksum != due:
        return make_difference("checksum", seen, str(due), str(message.checksum))
    return as_sent(sent, seen)


def observe_absence(polled: Polled, *, unwanted: Iterable[bytes], sentinel: bytes) -> Observation:
    """Return ``unwanted``, ``absent`` or ``no-sentinel`` for payloads that must not be stored.

    ``unwanted``: one of them was polled, or anything came before the sentinel, which was sent
    after them. ``no-sentinel``: the sentinel was not polled.
    """
    unread = observe_unread(polled)
    if unread is not None:
        return unread
    payloads = [message.payload for message in polled.messages]
    if sentinel not in payloads:
        return observed("no-sentinel", overdue=True).on(polled.answer)
    before = payloads[: payloads.index(sentinel)]
    is_unwanted = bool(before or set(unwanted) & set(payloads))
    return observed("unwanted" if is_unwanted else "absent").on(polled.answer)


def make_difference(field: str, seen: PolledMessage, expected: str, found: str) -> Difference:
    """Return a difference in a field, at the offset of the message in the poll's response body."""
    return Difference(field, seen.position + _place(field, seen.message), expected, found)


def difference_of(fault: WireError) -> Difference:
    """Return the difference that a decoding error describes."""
    return Difference(fault.field, fault.offset, fault.expected, fault.found)


def as_set(headers: Sequence[Header]) -> list[tuple[str, int, bytes]]:
    """Return headers sorted, as (key, kind, value): the order of headers has no meaning."""
    return sorted((header.key, header.kind, header.value) for header in headers)


def headers_text(headers: Sequence[Header]) -> str:
    """Return headers as short text for display."""
    if not headers:
        return "none"
    shown_ones = [f"{key}:{kind}={value[:8].hex()}" for key, kind, value in as_set(headers)[:3]]
    more = f" and {len(headers) - 3} more" if len(headers) > 3 else ""
    return ", ".join(shown_ones) + more


def state_text(code: int | None) -> str:
    """Return the name of a message state, or its number if it has no name."""
    return "no state" if code is None else state_name(code) or str(code)


def _place(field: str, message: Message) -> int:
    """Return the offset of a field in a message of the published layout."""
    places = {"offset": 0, "state": 8, "timestamp": 9, "id": 17, "checksum": 33, "headers": 37}
    if field in places or message.state is None:
        return places.get(field, 0)
    return (
        41
        + sum(9 + len(header.key.encode()) + len(header.value) for header in message.headers)
        + (4 if field == "payload" else 0)
    )
