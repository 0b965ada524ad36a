"""Faults of a client in the requests that it sends."""

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.iggy.client.core import http, operations, requests, tcp
from wireproof_reference_impl.iggy.client.core.calls import Poll, Send
from wireproof_reference_impl.iggy.client.core.settings import Settings
from wireproof_reference_impl.iggy.faulty.clients.ways import (
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.identifier import make_named, numeric
from wireproof_spec.iggy.bodies.partitioning import Partitioning, make_balanced
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.header_kinds import STRING
from wireproof_spec.iggy.kinds import MESSAGES_KEY, PARTITION_ID

_HEAD, _ID = 8, 16
_PLACE_SIZE = 18
"""The bytes of stream, topic and partition in the requests of the cases."""


def _on_send(change: Callable[[Send], Send]) -> Override:
    """Change what is sent, over either transport."""

    def call(original: Original, wanted: Send) -> object:
        return original(change(wanted))

    return around(operations, "send", call)


def _each(change: Callable[[SentMessage], SentMessage]) -> Override:
    return _on_send(lambda wanted: replace(wanted, messages=tuple(map(change, wanted.messages))))


def _partitioned(change: Callable[[Partitioning], Partitioning]) -> Override:
    return _on_send(lambda wanted: replace(wanted, partitioning=change(wanted.partitioning)))


def _other_topic(original: Original, call: object, settings: Settings) -> object:
    return original(call, replace(settings, topic=numeric(2)))


_requests_made: list[int] = []


def _with_member(name: str, value: object) -> Override:
    def call(original: Original, message: SentMessage) -> object:
        return {**_object(original, message), name: value}

    return around(http, "message_object", call)


def _object(original: Original, message: SentMessage) -> Mapping[str, object]:
    fields: Mapping[str, object] = original(message)
    return fields


@wrong_value("send-layout", _each)
def payload_ascii(message: SentMessage) -> SentMessage:
    """The highest bit of each byte of a payload is cleared."""
    return replace(message, payload=bytes(byte & 0x7F for byte in message.payload))


@boundary("send-layout", _each)
def sends_low_id(message: SentMessage) -> SentMessage:
    """The lower 64 bits of an id are sent."""
    return replace(message, id=message.id & ((1 << 64) - 1))


@missing("send-layout", _each)
def sends_no_headers(message: SentMessage) -> SentMessage:
    """Messages are sent without their headers."""
    return replace(message, headers=())


@wrong_value("send-layout", _each)
def sends_string_headers(message: SentMessage) -> SentMessage:
    """Every header is sent with the kind string."""
    return replace(
        message, headers=tuple(replace(header, kind=STRING) for header in message.headers)
    )


@wrong_value("send-layout", _on_send)
def sends_reversed(wanted: Send) -> Send:
    """The messages of a request are sent in the opposite order."""
    return replace(wanted, messages=wanted.messages[::-1])


@wrong_value("place")
def sends_to_other_topic() -> Change:
    """Messages are sent to another topic over TCP."""
    return around(requests, "send_payload", _other_topic)


@wrong_value("place")
def polls_other_topic() -> Change:
    """Another topic than the user named is polled over TCP."""
    return around(requests, "poll_payload", _other_topic)


@wrong_value("place", around(http, "request_of"))
def polls_other_stream(original: Original, call: object, settings: Settings) -> object:
    """Another stream than the user named is polled over HTTP."""
    if isinstance(call, Poll):
        settings = replace(settings, stream=make_named("other"))
    return original(call, settings)


@extra("send-layout well-formed", around(tcp, "frame"))
def sends_stored_layout(original: Original, code: int, payload: bytes) -> object:
    """A message is sent with a state and a checksum over TCP."""
    if code == commands.SEND_MESSAGES:
        end = _PLACE_SIZE + _ID
        payload = payload[:end] + b"\x01" + b"\0" * 4 + payload[end:]
    return original(code, payload)


@wrong_value("partitioning", _partitioned)
def always_balanced(_: Partitioning) -> Partitioning:
    """The server is always left to choose the partition."""
    return make_balanced()


@boundary("partitioning", _partitioned)
def key_cut(partitioning: Partitioning) -> Partitioning:
    """At most 8 bytes of a key are sent."""
    if partitioning.kind != MESSAGES_KEY:
        return partitioning
    return Partitioning(MESSAGES_KEY, partitioning.value[:8])


@wrong_value("partitioning", _partitioned)
def partition_big_endian(partitioning: Partitioning) -> Partitioning:
    """The id of a partition is sent in network byte order."""
    if partitioning.kind != PARTITION_ID:
        return partitioning
    return Partitioning(PARTITION_ID, partitioning.value[::-1])


@condition("well-formed", around(tcp, "frame"))
def later_length_short(original: Original, code: int, payload: bytes) -> object:
    """Over TCP the length of every request but the first leaves out its code."""
    _requests_made.append(code)
    data = original(code, payload)
    assert isinstance(data, bytes)
    if len(_requests_made) == 1:
        return data
    return (len(payload)).to_bytes(4, "little") + data[4:]


@wrong_value("send-layout well-formed", around(http, "message_object"))
def json_id_text(original: Original, message: SentMessage) -> object:
    """The id of a message in JSON is sent as a text."""
    return {**_object(original, message), "id": str(message.id)}


@extra("servers-fields")
def sends_checksum() -> Change:
    """A message in JSON is sent with a checksum."""
    return _with_member("checksum", 0)


@extra("servers-fields")
def sends_state() -> Change:
    """A message in JSON is sent with a state."""
    return _with_member("state", "available")


FAULTS = list_faults(__name__)
