"""Legal variants of the example client where its server is of generation apache."""

from collections.abc import Sequence
from typing import cast

from msgspec.structs import replace

from wireproof_reference_impl.client_faults import client_variant, constant
from wireproof_reference_impl.iggy.client import driver
from wireproof_reference_impl.iggy.client.core import operations
from wireproof_reference_impl.iggy.client.core.apache import messages, session, tcp
from wireproof_reference_impl.iggy.client.core.apache.session import Session
from wireproof_reference_impl.iggy.client.core.apache.tcp import ApacheTransport
from wireproof_reference_impl.iggy.client.core.calls import Call, Evicted, Poll, Send
from wireproof_reference_impl.iggy.client.core.operations import Operation
from wireproof_reference_impl.iggy.client.core.settings import Settings
from wireproof_reference_impl.iggy.variants.clients import (
    DAMAGED_WITHHELD,
    NAMES_IN_WORDS,
    NEVER_ASKS_AGAIN,
    NEVER_COMPARES,
    POLLS_ONCE,
    one_by_one,
)
from wireproof_reference_impl.overrides import Original, Override, around, replace_function
from wireproof_reference_impl.preset import Preset, alternative
from wireproof_spec.iggy.apache.batch import MessageFrame
from wireproof_spec.iggy.apache.checksum import xxh3_64
from wireproof_spec.iggy.apache.envelopes.v0_12 import V0_12
from wireproof_spec.iggy.apache.evictions import STALE_CLIENT
from wireproof_spec.iggy.apache.frames import Request, encode_request, make_request
from wireproof_spec.iggy.apache.header import RequestHeader
from wireproof_spec.iggy.apache.operations import (
    GET_CLUSTER_METADATA,
    METADATA,
    NON_REPLICATED,
    PING,
    REGISTER,
)
from wireproof_spec.iggy.bodies.partitioning import partition_id
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.kinds import BALANCED, MESSAGES_KEY
from wireproof_spec.iggy.message import Message

_APACHE = constant(driver, "generation", "apache")
_INCARNATION_SIZE = 24


def _variant(name: str, text: str, *overrides: Override) -> Preset:
    return client_variant(f"apache-{name}".rstrip("-"), text, *overrides, _APACHE)


def _alternative(name: str, text: str, *overrides: Override) -> Preset:
    return alternative(f"client-apache-{name}", text, overrides=(*overrides, _APACHE))


def _stamp_all(original: Original, header: RequestHeader, body: bytes) -> RequestHeader:
    return replace(header, request_checksum=xxh3_64(body))


def _stamp_nothing(original: Original, header: RequestHeader, body: bytes) -> RequestHeader:
    return header


def _number_as_pages(original: Original, self: Session, operation: int, code: int) -> object:
    """Only metadata operations advance the number."""
    header: RequestHeader = original(self, operation, code)
    if operation not in METADATA and self.request > 1:
        self.request -= 1
    return replace(header, request=self.request)


def _choose_partition(original: Original, wanted: Send) -> object:
    own = wanted.partitioning.kind in (BALANCED, MESSAGES_KEY)
    return original(replace(wanted, partitioning=partition_id(0)) if own else wanted)


def _again_when_stale(original: Original, wanted: Poll) -> Operation[tuple[Message, ...]]:
    try:
        return (yield from cast(Operation[tuple[Message, ...]], original(wanted)))
    except Evicted as evicted:
        if evicted.code != STALE_CLIENT:
            raise
    return (yield from cast(Operation[tuple[Message, ...]], original(wanted)))


def _asking_first(code: int) -> Override:
    """Send a read before each request behind the login; its reply is passed over."""

    def ask(original: Original, self: ApacheTransport, call: Call) -> bytes:
        data: bytes = original(self, call)
        if not self.session.session:
            return data
        own = RequestHeader(client=self.session.client, session=self.session.session)
        asked = replace(own, operation=NON_REPLICATED, code=code, request=1 << 40)
        return encode_request(make_request(asked)) + data

    return around(ApacheTransport, "ask", ask)


def _sorted(original: Original, headers: Sequence[Header]) -> object:
    return original(sorted(headers, key=lambda each: each.key))


def _number_0_12(original: Original, self: Session, settings: Settings) -> None:
    original(self, settings)
    self.envelope = V0_12


def _name_incarnation(original: Original, self: Session, call: Call) -> Request:
    """Set the bytes of a request that have a meaning in protocol 0.12."""
    request: Request = original(self, call)
    if request.header.operation == REGISTER:
        return request
    rest = request.header.reserved[_INCARNATION_SIZE:]
    header = replace(request.header, reserved=b"\1" * _INCARNATION_SIZE + rest)
    return Request(header, request.body)


def _without_window(original: Original, eviction: object) -> Evicted:
    evicted: Evicted = original(eviction)
    return Evicted(evicted.code, str(evicted).partition(";")[0])


def _as_given(original: Original, message: SentMessage, settings: object) -> object:
    frame: MessageFrame = original(message, settings)
    return replace(frame, id=message.id)


VARIANTS = (
    _variant("", "The client is one of generation apache."),
    _variant(
        "stamps-all",
        "Every request has the checksum of its body.",
        around(session, "stamp", _stamp_all),
    ),
    _variant(
        "stamps-nothing",
        "No request has a checksum.",
        around(session, "stamp", _stamp_nothing),
    ),
    _variant(
        "numbers-as-pages",
        "As in the pages, only metadata operations advance the request number.",
        around(Session, "header", _number_as_pages),
    ),
    _variant(*NAMES_IN_WORDS),
    _variant(
        "sends-one-by-one",
        "Each message is sent in a batch of its own.",
        replace_function(operations, "send", one_by_one),
    ),
    _variant(
        "chooses-partition",
        "The client chooses the partition of a balanced send and of a key itself.",
        around(operations, "send", _choose_partition),
    ),
    _variant(
        "headers-sorted",
        "User headers are sent in the order of their keys.",
        around(messages, "write_headers", _sorted),
    ),
    _variant(*NEVER_ASKS_AGAIN),
    _variant(*DAMAGED_WITHHELD),
    _variant(*POLLS_ONCE),
    _variant(
        "again-when-stale",
        "A client that is stale logs in again, and repeats the poll.",
        around(operations, "poll", _again_when_stale),
    ),
    _variant(
        "connects-each-time",
        "Each request goes over a connection and a session of its own.",
        constant(ApacheTransport, "lasts", value=False),
    ),
    _variant(
        "pings",
        "Before each request the client sends a ping.",
        _asking_first(PING),
    ),
    _variant(
        "asks-for-cluster",
        "Before each request the client asks for the nodes of the cluster.",
        _asking_first(GET_CLUSTER_METADATA),
    ),
    _variant(
        "number-0-12",
        "The client speaks protocol 0.12.",
        around(Session, "__init__", _number_0_12),
        around(Session, "make", _name_incarnation),
    ),
    _alternative(*NEVER_COMPARES),
    _alternative(
        "window-untold",
        "The user is not told which versions a server accepts.",
        around(tcp, "evicted", _without_window),
    ),
    _alternative(
        "ids-left-zero",
        "A message without an id is sent with the id zero.",
        around(messages, "make_frame", _as_given),
    ),
)
