"""Faults of the message around the extension header: ids, birth, destination, body."""

from collections.abc import Callable
from typing import cast

from wireproof_reference_impl.oms.core import body
from wireproof_reference_impl.oms.core.documents import JsonObject
from wireproof_reference_impl.oms.core.message import Message
from wireproof_reference_impl.oms.faulty.effect import (
    boundary,
    change_header,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_reference_impl.preset import Preset
from wireproof_spec.oms import names

ID = "message.message-id-assigned"
BIRTH = "message.born-timestamp-assigned"
PLACE = "message.destination-received"
BODY = "message.body-restored"
_HOUR_MS = 3_600_000
_LARGE = 1000


def _keep(name: str) -> Override:
    """Return an override by which a name of the header arrives as the sender set it."""

    def wrong(told: JsonObject, message: Message) -> None:
        if name in message.sent.header:
            told[name] = message.sent.header[name]

    return change_header(wrong)


def _number(name: str, change: Callable[[int], int]) -> Override:
    def wrong(told: JsonObject, message: Message) -> None:
        told[name] = change(cast(int, told[name]))

    return change_header(wrong)


def _text(name: str, change: Callable[[str], str]) -> Override:
    def wrong(told: JsonObject, message: Message) -> None:
        told[name] = change(cast(str, told[name]))

    return change_header(wrong)


def _drop(name: str) -> Override:
    def wrong(told: JsonObject, message: Message) -> None:
        del told[name]

    return change_header(wrong)


def _unpacked(change: Callable[[bytes, str], bytes]) -> Override:
    """Return an override that changes a restored body, given with the name of its compression."""

    def wrong(original: Original, data: bytes | None, compression: object) -> bytes | None:
        right = cast(bytes | None, original(data, compression))
        return right if right is None else change(right, str(compression))

    return around(body, "unpack", wrong)


def _still_packed(original: Original, data: bytes | None, compression: object) -> bytes | None:
    return data


FAULTS: tuple[Preset, ...] = (
    extra(
        "message-id-of-the-sender",
        "a messageId that the sender set is kept",
        _keep(names.MESSAGE_ID),
        breaks=ID,
    ),
    boundary(
        "message-id-empty",
        "the messageId is empty",
        _text(names.MESSAGE_ID, lambda told: ""),
        breaks=ID,
        may_break="message.message-id",
    ),
    missing(
        "message-id-dropped",
        "a message has no messageId",
        _drop(names.MESSAGE_ID),
        breaks=ID,
        may_break="message.message-id",
    ),
    extra(
        "birth-of-the-sender",
        "a bornTimestamp that the sender set is kept",
        _keep(names.BORN_TIMESTAMP),
        breaks=BIRTH,
    ),
    boundary(
        "birth-an-hour-ahead",
        "bornTimestamp lies an hour ahead",
        _number(names.BORN_TIMESTAMP, lambda told: told + _HOUR_MS),
        breaks=BIRTH,
        may_break="store.timestamp-after-birth",
    ),
    wrong_value(
        "birth-in-seconds",
        "bornTimestamp is in seconds",
        _number(names.BORN_TIMESTAMP, lambda told: told // 1000),
        breaks=BIRTH,
    ),
    missing(
        "birth-is-0",
        "bornTimestamp is 0",
        _number(names.BORN_TIMESTAMP, lambda told: 0),
        breaks=BIRTH,
    ),
    missing(
        "destination-dropped",
        "a message has no destination",
        _drop(names.DESTINATION),
        breaks=PLACE,
        may_break="message.destination",
    ),
    boundary(
        "destination-empty",
        "the destination is empty",
        _text(names.DESTINATION, lambda told: ""),
        breaks=PLACE,
    ),
    wrong_value(
        "destination-with-partition",
        "the destination has the partition behind its name",
        change_header(
            lambda told, message: told.update(
                {names.DESTINATION: f"{told[names.DESTINATION]}-{message.partition}"}
            )
        ),
        breaks=PLACE,
    ),
    missing(
        "body-still-compressed",
        "a compressed body arrives compressed",
        around(body, "unpack", _still_packed),
        breaks=BODY,
    ),
    boundary(
        "body-compressed-cut",
        "a compressed body arrives without its last byte",
        _unpacked(lambda data, kind: data[:-1] if kind in body.COMPRESSIONS else data),
        breaks=BODY,
    ),
    condition(
        "body-large-lost",
        "a compressed body of more than 1000 bytes arrives empty",
        _unpacked(
            lambda data, kind: b"" if kind in body.COMPRESSIONS and len(data) > _LARGE else data
        ),
        breaks=BODY,
    ),
)
