"""Faults of a client when an answer is broken, refuses, or does not come."""

from collections.abc import Generator
from contextlib import suppress
from types import ModuleType

from wireproof_reference_impl.client_faults import constant, die
from wireproof_reference_impl.faults import Change, list_faults
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
    messages_of,
)
from wireproof_reference_impl.iggy.client.core.http import HttpTransport
from wireproof_reference_impl.iggy.client.core.tcp import TcpTransport
from wireproof_reference_impl.iggy.faulty.clients.seams import Messages
from wireproof_reference_impl.iggy.faulty.clients.ways import (
    boundary,
    condition,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override, around, replace_function
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


@condition("survives")
def dies_at_cut_body() -> Change:
    """The process ends when a body over TCP cannot be read."""
    return _die_at(Unreadable, messages, "read_body")


@boundary("survives")
def dies_at_greatest_length() -> Change:
    """The process ends when an answer over TCP announces 2^32 - 1 bytes."""
    return _die_at(Lost, TcpTransport, "receive")


@condition("survives")
def dies_at_bad_json() -> Change:
    """The process ends when a body over HTTP cannot be read."""
    return _die_at(Unreadable, messages, "read_json")


@condition("survives")
def dies_at_bad_http() -> Change:
    """The process ends when an answer over HTTP is no HTTP, or does not come."""
    return _die_at(Lost, HttpTransport, "receive")


@wrong_value(
    "whole", around(messages, "read_body"), also=(constant(operations, "matches", value=True),)
)
def pads_cut_body(original: Original, body: bytes, generation: object) -> object:
    """A body over TCP that is too short is read with zeros behind it."""
    for more in range(_MOST_PADDING):
        with suppress(Unreadable):
            return original(body + bytes(more), generation)
    return original(body, generation)


@missing(
    "whole", around(messages, "read_object"), also=(constant(operations, "matches", value=True),)
)
def lost_payload_empty(original: Original, value: dict[str, object]) -> object:
    """A message in JSON without a payload is given an empty one."""
    return original({"payload": "", **value})


@condition(
    "whole", around(messages, "read_object"), also=(constant(operations, "matches", value=True),)
)
def odd_payload_zeros(original: Original, value: dict[str, object]) -> object:
    """A payload in JSON that is not base64 is given as zeros."""
    odd = value.get("payload") == "***"
    return original({**value, "payload": "AAAA"} if odd else value)


@missing("refusal-told")
def refusals_ignored() -> Change:
    """An error of the server is taken for success."""
    return (
        constant(tcp, "check_status", None),
        constant(http, "check_status", None),
    )


@condition("refusal-told", replace_function(operations, "poll"))
def refused_poll_empty(wanted: Poll) -> Generator[Call, Answer, Messages]:
    """A poll that the server refuses has no messages."""
    try:
        return messages_of((yield wanted))
    except Refused:
        return ()


@condition("refusal-told", around(tcp, "check_status"))
def unknown_status_ignored(original: Original, response: Response) -> None:
    """Over TCP an error without a name is taken for success."""
    if response.status in STATUSES:
        original(response)


@wrong_value("unanswered", replace_function(operations, "send"))
def success_when_lost(wanted: Send) -> Generator[Call, Answer, None]:
    """Messages are reported as sent when the connection is lost."""
    with suppress(Lost):
        yield wanted


@condition("unanswered", around(HttpTransport, "receive"))
def success_when_closed(original: Original, self: HttpTransport, data: bytes) -> object:
    """Over HTTP messages are reported as sent when the connection is closed."""
    return original(self, data) if data else ()


FAULTS = list_faults(__name__)
