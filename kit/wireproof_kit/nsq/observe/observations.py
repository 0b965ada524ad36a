"""Turns answers and deliveries into observation tokens of the catalogue.

Answers: ``ok``, ``trace``, ``trace:WHAT-IS-WRONG``, ``json``, ``response:TEXT``,
``error:CODE``, ``message``, ``closed``, ``silence``, ``nonsense`` (no frame at all).
Deliveries: ``delivered:as-sent``, ``delivered:header-respelled``,
``delivered:header-changed``, ``delivered:body-changed``,
``delivered:no-header``, ``delivered:undecodable``, ``delivered:layout-NAME``, ``missing``;
``absent``, ``unwanted``, ``no-sentinel``.
HTTP: ``http:STATUS,ok``, ``http:STATUS,trace``, ``http:STATUS,CODE``, ``http:silence``,
``http:closed``, ``http:nonsense``.
"""

import re
from dataclasses import replace
from decimal import Decimal

from wireproof_kit.nsq.observe.delivery import AS_DUE, UNKNOWN, Delivery, note_excess
from wireproof_kit.nsq.observe.trace_layout import looks_like_trace, observe_trace
from wireproof_kit.nsq.wire.answers import Answer, ErrorFrame, Nonsense, Response
from wireproof_kit.nsq.wire.frames import Header, header_bytes
from wireproof_kit.nsq.wire.http import HttpAnswer
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_spec import strict_json
from wireproof_spec.json_schema import SchemaFault
from wireproof_spec.nsq.names import INTERNAL_PREFIX, OK
from wireproof_spec.strict_json import JsonValue
from wireproof_spec.wire_error import WireError

SHOWN = 20
RESPELLED = "the header has the same JSON value, spelled otherwise"
STUCK = "stuck"


def observe(
    answer: Answer, *, then: str | None = None, trace_id: int | None = None
) -> Observation:
    """Return the observation for an answer: its token, a comma, and the connection's state.

    With ``trace_id``, a trace response must contain it. A closed connection has no state.
    """
    observation = _observe(answer, trace_id).on(answer)
    if then is None or answer.kind == "closed":
        return observation
    overdue = observation.overdue or then == STUCK
    return replace(observation.then(then), overdue=overdue)


def _observe(answer: Answer, trace_id: int | None) -> Observation:
    if isinstance(answer, Response):
        return _observe_response(answer.data, trace_id)
    if isinstance(answer, ErrorFrame):
        return observed(f"error:{_code(answer.code)}", note=answer.text[:200])
    if isinstance(answer, Nonsense):
        fault = answer.fault
        difference = Difference(fault.field, fault.offset, fault.expected, fault.found)
        return observed("nonsense", difference=difference)
    words = {"pushed": "message", "closed": "closed", "silent": "silence"}
    return observed(words[answer.kind], overdue=answer.kind == "silent")


def _observe_response(data: bytes, trace_id: int | None) -> Observation:
    if data == OK:
        return observed("ok")
    if looks_like_trace(data, trace_id):
        return observe_trace(data, trace_id)
    if _is_json_object(data):
        return observed("json")
    difference = Difference("data", 0, "OK", _format_excerpt(data))
    return observed(f"response:{_format_excerpt(data)}", difference=difference)


def observe_delivery(
    delivery: Delivery | None, *, body: bytes, header: Header | None = None, exact: bool = False
) -> Observation:
    """Compare a delivery with the published message; ``missing`` if there is none.

    ``header=None`` means that none was sent. A header with the same JSON value in another spelling
    counts as sent, with a note; with ``exact`` it is ``delivered:header-respelled``, and
    numbers must have kept all digits.
    """
    if delivery is None:
        return observed("missing", overdue=True)
    return _observe_delivery(delivery, body, header, exact).on(delivery)


def _observe_delivery(
    delivery: Delivery, body: bytes, header: Header | None, exact: bool
) -> Observation:
    if delivery.layout not in (AS_DUE, UNKNOWN):
        return observed(f"delivered:layout-{delivery.layout}", difference=_fault(delivery))
    if delivery.message is None:
        return observed("delivered:undecodable", difference=_fault(delivery))
    if delivery.body != body:
        difference = find_difference("body", expected=body, found=delivery.body)
        note = note_excess(len(body), len(delivery.body)) if body in delivery.body else ""
        return observed("delivered:body-changed", difference=difference, note=note)
    return _observe_header(delivery, None if header is None else header_bytes(header), exact)


def observe_absence(before: list[Delivery] | None, *, of: bytes) -> Observation:
    """Return whether the message ``of`` arrived before a sentinel: ``absent`` or ``unwanted``.

    ``before`` are the messages before the sentinel. If they are None, the sentinel did not arrive,
    and the result is ``no-sentinel``.
    """
    if before is None:
        return observed("no-sentinel")
    came = [delivery for delivery in before if of in delivery.raw]
    return observed("unwanted").on(*came) if came else observed("absent")


def _observe_header(delivery: Delivery, sent: bytes | None, exact: bool) -> Observation:
    found = delivery.header or None
    if found == (sent or None):
        return observed("delivered:as-sent")
    if is_respelled(sent, found, exact=exact):
        return observed(f"delivered:{'header-respelled' if exact else 'as-sent'}", note=RESPELLED)
    difference = find_difference("json_header", expected=sent or b"", found=found or b"")
    word = "no-header" if found is None else "header-changed"
    return observed(f"delivered:{word}", difference=difference)


def observe_http(answer: HttpAnswer) -> Observation:
    """Return the observation for an HTTP response: its status and its error code."""
    if answer.failure is not None:
        return observed(f"http:{answer.failure}", overdue=answer.failure == "silence").on(answer)
    return observed(f"http:{answer.status},{answer.word}").on(answer)


def schema_difference(fault: SchemaFault, whole: str) -> Difference:
    """Return the difference that a violation of a JSON schema is; ``whole`` names the document."""
    return Difference(fault.pointer or whole, None, fault.due, fault.found)


def find_difference(field: str, *, expected: bytes, found: bytes) -> Difference:
    """Return the first difference between two byte strings, with an excerpt of each."""
    at = next(
        (i for i, (a, b) in enumerate(zip(expected, found, strict=False)) if a != b),
        min(len(expected), len(found)),
    )
    return Difference(field, at, _bytes_at(expected, at), _bytes_at(found, at))


def _fault(delivery: Delivery) -> Difference | None:
    fault = delivery.fault
    if fault is None:
        return Difference("layout", None, AS_DUE, delivery.layout)
    return Difference(fault.field, fault.offset, fault.expected, fault.found)


def _bytes_at(data: bytes, at: int) -> str:
    piece = data[at : at + 8]
    return piece.hex(" ") if piece else f"the end after {len(data)} bytes"


def is_respelled(sent: bytes | None, found: bytes | None, *, exact: bool = False) -> bool:
    """Return True if a header has the JSON value that was sent, in another spelling.

    The broker may remove its own names, which begin with ##. Unless ``exact``, a number may have
    lost digits that a 64-bit float cannot hold.
    """
    if sent is None or found is None:
        return False
    try:
        due, came = strict_json.read(sent).value, strict_json.read(found).value
    except WireError:
        return False
    if not exact:
        due, came = _round_number(due), _round_number(came)
    return any(strict_json.same_json(each, came) for each in (due, _without_internal(due)))


def _without_internal(value: JsonValue) -> JsonValue:
    if not isinstance(value, dict):
        return value
    return {name: each for name, each in value.items() if not name.startswith(INTERNAL_PREFIX)}


def _round_number(value: JsonValue) -> JsonValue:
    """Return a JSON value whose numbers are those that 64-bit floats hold."""
    if isinstance(value, dict):
        return {name: _round_number(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_round_number(each) for each in value]
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return value
    return Decimal(float(value))


def _is_json_object(data: bytes) -> bool:
    try:
        return data.startswith(b"{") and isinstance(strict_json.read(data).value, dict)
    except WireError:
        return False


def _code(code: str) -> str:
    return code if re.fullmatch(r"[A-Za-z0-9_]+", code) else "unreadable"


def _format_excerpt(data: bytes) -> str:
    text = data[:SHOWN].decode("ascii", "replace")
    if not text.isprintable() or "�" in text:
        return f"binary-{len(data)}"
    return text.replace(",", ";")
