"""Faults of a client when an answer is broken, refuses, or does not come."""

from collections.abc import Generator
from contextlib import suppress
from types import ModuleType

from wireproof_reference_impl.iggy.client.core import http, messages, operations, tcp
from wireproof_reference_impl.iggy.client.core.calls import (
    Answer,
    Call,
    CallFailed,
    Lost,
    Poll,
    Refused,
    Send,
    Unreadable,
)
from wireproof_reference_impl.iggy.client.core.http import HttpTransport
from wireproof_reference_impl.iggy.client.core.tcp import TcpTransport
from wireproof_reference_impl.iggy.faulty.clients.rows import (
    Messages,
    around,
    boundary,
    condition,
    constant,
    die,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override, replace_function
from wireproof_spec.iggy.frame import Response
from wireproof_spec.iggy.statuses import STATUSES

_MOST_PADDING = 64


def _die_at(error: type[CallFailed], owner: ModuleType | type, name: str) -> Override:
    """Return an override by which the process ends when a function raises an error."""

    def call(original: Original, *args: object, **named: object) -> object:
        try:
            return original(*args, **named)
        except error:
            die()

    return around(owner, name, call)


def _padded(original: Original, body: bytes, generation: object) -> object:
    for more in range(_MOST_PADDING):
        with suppress(Unreadable):
            return original(body + bytes(more), generation)
    return original(body, generation)


def _without_payload(original: Original, value: dict[str, object]) -> object:
    return original({"payload": "", **value})


def _any_payload(original: Original, value: dict[str, object]) -> object:
    odd = value.get("payload") == "***"
    return original({**value, "payload": "AAAA"} if odd else value)


def _poll_unless_refused(wanted: Poll) -> Generator[Call, Answer, Messages]:
    try:
        return (yield wanted)
    except Refused:
        return ()


def _known_only(original: Original, response: Response) -> None:
    if response.status in STATUSES:
        original(response)


def _send_anyway(wanted: Send) -> Generator[Call, Answer, None]:
    with suppress(Lost):
        yield wanted


def _end_is_answer(original: Original, self: HttpTransport, data: bytes) -> object:
    return original(self, data) if data else ()


FAULTS = (
    condition(
        "dies-at-cut-body",
        "The process ends when a body over TCP cannot be read.",
        "survives",
        _die_at(Unreadable, messages, "read_body"),
        may="whole unknown-state",
    ),
    boundary(
        "dies-at-greatest-length",
        "The process ends when an answer over TCP announces 2^32 - 1 bytes.",
        "survives",
        _die_at(Lost, TcpTransport, "receive"),
        may="unanswered",
    ),
    condition(
        "dies-at-bad-json",
        "The process ends when a body over HTTP cannot be read.",
        "survives",
        _die_at(Unreadable, messages, "read_json"),
        may="whole unknown-state",
    ),
    condition(
        "dies-at-bad-http",
        "The process ends when an answer over HTTP is no HTTP, or does not come.",
        "survives",
        _die_at(Lost, HttpTransport, "receive"),
        may="unanswered",
    ),
    wrong_value(
        "pads-cut-body",
        "A body over TCP that is too short is read with zeros behind it.",
        "whole",
        around(messages, "read_body", _padded),
        constant(operations, "matches", value=True),
    ),
    missing(
        "lost-payload-empty",
        "A message in JSON without a payload is given an empty one.",
        "whole",
        around(messages, "read_object", _without_payload),
        constant(operations, "matches", value=True),
        may="survives",
    ),
    condition(
        "odd-payload-zeros",
        "A payload in JSON that is not base64 is given as zeros.",
        "whole",
        around(messages, "read_object", _any_payload),
        constant(operations, "matches", value=True),
        may="survives",
    ),
    missing(
        "refusals-ignored",
        "An error of the server is taken for success.",
        "refusal-told",
        constant(tcp, "check_status", None),
        constant(http, "check_status", None),
    ),
    condition(
        "refused-poll-empty",
        "A poll that the server refuses has no messages.",
        "refusal-told",
        replace_function(operations, "poll", _poll_unless_refused),
    ),
    condition(
        "unknown-status-ignored",
        "Over TCP an error without a name is taken for success.",
        "refusal-told",
        around(tcp, "check_status", _known_only),
    ),
    wrong_value(
        "success-when-lost",
        "Messages are reported as sent when the connection is lost.",
        "unanswered",
        replace_function(operations, "send", _send_anyway),
    ),
    condition(
        "success-when-closed",
        "Over HTTP messages are reported as sent when the connection is closed.",
        "unanswered",
        around(HttpTransport, "receive", _end_is_answer),
        may="survives",
    ),
)
