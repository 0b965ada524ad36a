"""Legal variants of the example client: each takes another way that the texts permit."""

from collections.abc import Generator
from contextlib import suppress

from msgspec.structs import replace

from wireproof_reference_impl.client_faults import client_variant, constant
from wireproof_reference_impl.iggy.client import driver
from wireproof_reference_impl.iggy.client.core import messages, operations, requests, tcp
from wireproof_reference_impl.iggy.client.core.calls import (
    Answer,
    Call,
    CallFailed,
    Lost,
    Poll,
    Send,
)
from wireproof_reference_impl.iggy.client.core.http import HttpTransport
from wireproof_reference_impl.iggy.client.core.operations import Operation
from wireproof_reference_impl.iggy.client.core.settings import Settings
from wireproof_reference_impl.iggy.client.core.tcp import TcpTransport
from wireproof_reference_impl.overrides import Original, around, replace_function
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.consumer import Consumer
from wireproof_spec.iggy.bodies.identifier import make_named
from wireproof_spec.iggy.kinds import CONSUMER_KIND, OFFSET
from wireproof_spec.iggy.message import Message
from wireproof_spec.iggy.states import AVAILABLE, STATES

Messages = tuple[Message, ...]
_Polling = Operation[Messages]
_FIRST_ID = 1 << 100


def _available_only(original: Original, wanted: object) -> _Polling:
    polling: _Polling = original(wanted)
    polled = yield from polling
    return tuple(each for each in polled if each.state == AVAILABLE)


def without_damaged(wanted: Poll) -> _Polling:
    """Poll, and leave out messages that do not match their checksum."""
    polled = yield from operations.poll_again(wanted)
    return tuple(filter(operations.matches, polled))


def _ten_times(original: Original, attempts: int) -> bool:
    return attempts < 10


def _any_state(original: Original, message: Message) -> Message:
    return message


def _tell_any_state(original: Original, message: Message) -> object:
    fields = dict(original(message))
    return fields if message.state in STATES else {**fields, "state": f"unknown: {message.state}"}


def _numbered(settings: Settings) -> Consumer:
    return Consumer(CONSUMER_KIND, settings.consumer)


def _published_but_login(original: Original, code: int, generation: str) -> object:
    return original(code, generation if code == commands.LOGIN_USER else "published")


def by_name(original: Original, told: object) -> object:
    """Read the settings; name stream and topic by their names."""
    name = make_named("wireproof")
    return replace(original(told), stream=name, topic=name)


def _poll_ahead(original: Original, wanted: object) -> _Polling:
    polling: _Polling = original(wanted)
    polled = yield from polling
    if polled:
        with suppress(CallFailed):
            yield Poll(OFFSET, polled[-1].offset + 1, 10)
    return polled


def _send_twice(wanted: Send) -> Generator[Call, Answer, None]:
    try:
        yield wanted
    except Lost:
        yield wanted


def one_by_one(wanted: Send) -> Operation[None]:
    """Send each message of a batch in a request of its own."""
    for message in wanted.messages:
        yield Send((message,), wanted.partitioning)


def _own_ids(original: Original, wanted: Send) -> object:
    numbered = [
        type(each)(each.id or _FIRST_ID + number, each.headers, each.payload)
        for number, each in enumerate(wanted.messages)
    ]
    return original(Send(tuple(numbered), wanted.partitioning))


def _never_lasts(original: Original, transport: object) -> bool:
    original(transport)  # this also prepares for the next request, such as the one after a login
    return False


# The clients of generation apache have these, too.
NAMES_IN_WORDS = (
    "names-in-words",
    "Stream and topic are named by the names that the server gives them.",
    around(driver, "read_settings", by_name),
)
NEVER_COMPARES = (
    "never-compares",
    "No checksum is compared.",
    constant(operations, "matches", value=True),
)
NEVER_ASKS_AGAIN = (
    "never-asks-again",
    "A damaged message is not polled again.",
    constant(operations, "may_ask_again", value=False),
)
DAMAGED_WITHHELD = (
    "damaged-withheld",
    "A damaged message is left out.",
    replace_function(operations, "poll", without_damaged),
)
POLLS_ONCE = (
    "polls-once",
    "A poll is not repeated when the connection is lost.",
    constant(operations, "may_repeat", value=False),
)

VARIANTS = (
    client_variant(
        "tagged",
        "The client is one of tagged servers: it logs in, and a poll has a head of 16 bytes.",
        constant(driver, "generation", "tagged"),
    ),
    client_variant(
        "logs-in-by-number",
        "As in the Iggy schema, the client logs in, and names consumers by number.",
        constant(driver, "generation", "tagged"),
        replace_function(requests, "_consumer", _numbered),
        around(tcp, "payload_schema", _published_but_login),
    ),
    client_variant(*NAMES_IN_WORDS),
    client_variant(
        "polls-ahead-of-user",
        "After each poll the client polls what follows, before its user asks for it.",
        around(operations, "poll", _poll_ahead),
    ),
    client_variant(*NEVER_COMPARES),
    client_variant(*NEVER_ASKS_AGAIN),
    client_variant(
        "asks-ten-times",
        "A damaged message is polled ten times.",
        around(operations, "may_ask_again", _ten_times),
    ),
    client_variant(*DAMAGED_WITHHELD),
    client_variant(
        "withholds-unavailable",
        "Messages that are not available are left out.",
        around(operations, "poll", _available_only),
    ),
    client_variant(
        "unknown-state-passed-on",
        "A message over TCP with an unknown state is given with its number.",
        around(messages, "check_state", _any_state),
        around(driver, "tell", _tell_any_state),
    ),
    client_variant(*POLLS_ONCE),
    client_variant(
        "sends-twice",
        "Messages are sent once more when the connection is lost.",
        replace_function(operations, "send", _send_twice),
    ),
    client_variant(
        "sends-one-by-one",
        "Each message is sent in a request of its own.",
        replace_function(operations, "send", one_by_one),
    ),
    client_variant(
        "sends-own-ids",
        "The client makes the ids of messages.",
        around(operations, "send", _own_ids),
    ),
    client_variant(
        "connects-each-time",
        "Each request goes over a connection of its own.",
        around(TcpTransport, "lasts", _never_lasts),
        around(HttpTransport, "lasts", _never_lasts),
    ),
)
