"""Faults of a client in the requests that it sends."""

from collections.abc import Callable, Mapping
from typing import cast

from msgspec.structs import replace

from wireproof_reference_impl.iggy.client.core import http, operations, requests, tcp
from wireproof_reference_impl.iggy.client.core.calls import Poll, Send
from wireproof_reference_impl.iggy.client.core.settings import Settings
from wireproof_reference_impl.iggy.faulty.clients.rows import (
    around,
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.identifier import make_named, numeric
from wireproof_spec.iggy.bodies.partitioning import Partitioning, make_balanced
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.header_kinds import STRING
from wireproof_spec.iggy.kinds import MESSAGES_KEY, PARTITION_ID

_SENDING = "partitioning servers-fields refusal-told unanswered"
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


def _ascii(message: SentMessage) -> SentMessage:
    return replace(message, payload=bytes(byte & 0x7F for byte in message.payload))


def _low_id(message: SentMessage) -> SentMessage:
    return replace(message, id=message.id & ((1 << 64) - 1))


def _all_strings(message: SentMessage) -> SentMessage:
    return replace(message, headers=tuple(replace(each, kind=STRING) for each in message.headers))


def _other_topic(original: Original, call: object, settings: Settings) -> object:
    return original(call, replace(settings, topic=numeric(2)))


def _poll_other_stream(original: Original, call: object, settings: Settings) -> object:
    if isinstance(call, Poll):
        settings = replace(settings, stream=make_named("other"))
    return original(call, settings)


def _with_state(original: Original, code: int, payload: bytes) -> object:
    """Put a state and a checksum into the first message, where the stored layout has them."""
    if code == commands.SEND_MESSAGES:
        end = _PLACE_SIZE + _ID
        payload = payload[:end] + b"\x01" + b"\0" * 4 + payload[end:]
    return original(code, payload)


_requests_made: list[int] = []


def _later_length(original: Original, code: int, payload: bytes) -> object:
    """Leave the code out of the length of every request but the first."""
    _requests_made.append(code)
    data = original(code, payload)
    assert isinstance(data, bytes)
    if len(_requests_made) == 1:
        return data
    return (len(payload)).to_bytes(4, "little") + data[4:]


def _id_as_text(original: Original, message: SentMessage) -> object:
    return {**_object(original, message), "id": str(message.id)}


def _with_member(name: str, value: object) -> Override:
    def call(original: Original, message: SentMessage) -> object:
        return {**_object(original, message), name: value}

    return around(http, "message_object", call)


def _object(original: Original, message: SentMessage) -> Mapping[str, object]:
    return cast(Mapping[str, object], original(message))


def _cut_key(partitioning: Partitioning) -> Partitioning:
    if partitioning.kind != MESSAGES_KEY:
        return partitioning
    return Partitioning(MESSAGES_KEY, partitioning.value[:8])


def _big_endian(partitioning: Partitioning) -> Partitioning:
    if partitioning.kind != PARTITION_ID:
        return partitioning
    return Partitioning(PARTITION_ID, partitioning.value[::-1])


FAULTS = (
    wrong_value(
        "payload-ascii",
        "The highest bit of each byte of a payload is cleared.",
        "send-layout",
        _each(_ascii),
    ),
    boundary(
        "sends-low-id",
        "The lower 64 bits of an id are sent.",
        "send-layout",
        _each(_low_id),
    ),
    missing(
        "sends-no-headers",
        "Messages are sent without their headers.",
        "send-layout",
        _each(lambda message: replace(message, headers=())),
    ),
    wrong_value(
        "sends-string-headers",
        "Every header is sent with the kind string.",
        "send-layout",
        _each(_all_strings),
    ),
    wrong_value(
        "sends-reversed",
        "The messages of a request are sent in the opposite order.",
        "send-layout",
        _on_send(lambda wanted: replace(wanted, messages=wanted.messages[::-1])),
    ),
    wrong_value(
        "sends-to-other-topic",
        "Messages are sent to another topic over TCP.",
        "place",
        around(requests, "send_payload", _other_topic),
    ),
    wrong_value(
        "polls-other-topic",
        "Another topic than the user named is polled over TCP.",
        "place",
        around(requests, "poll_payload", _other_topic),
    ),
    wrong_value(
        "polls-other-stream",
        "Another stream than the user named is polled over HTTP.",
        "place",
        around(http, "request_of", _poll_other_stream),
    ),
    extra(
        "sends-stored-layout",
        "A message is sent with a state and a checksum over TCP.",
        "send-layout well-formed",
        around(tcp, "frame", _with_state),
        may=_SENDING,
    ),
    wrong_value(
        "always-balanced",
        "The server is always left to choose the partition.",
        "partitioning",
        _partitioned(lambda _: make_balanced()),
    ),
    boundary(
        "key-cut",
        "At most 8 bytes of a key are sent.",
        "partitioning",
        _partitioned(_cut_key),
    ),
    wrong_value(
        "partition-big-endian",
        "The id of a partition is sent in network byte order.",
        "partitioning",
        _partitioned(_big_endian),
    ),
    condition(
        "later-length-short",
        "Over TCP the length of every request but the first leaves out its code.",
        "well-formed",
        around(tcp, "frame", _later_length),
        may="position verify ask-again bounded survives whole",
    ),
    wrong_value(
        "json-id-text",
        "The id of a message in JSON is sent as a text.",
        "send-layout well-formed",
        around(http, "message_object", _id_as_text),
        may=_SENDING,
    ),
    extra(
        "sends-checksum",
        "A message in JSON is sent with a checksum.",
        "servers-fields",
        _with_member("checksum", 0),
    ),
    extra(
        "sends-state",
        "A message in JSON is sent with a state.",
        "servers-fields",
        _with_member("state", "available"),
    ),
)
