"""Faults of the message around the extension header: ids, birth, destination, body."""

from collections.abc import Callable
from functools import partial

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.oms.behaviour import Behaviour
from wireproof_reference_impl.oms.core import body, documents
from wireproof_reference_impl.oms.core.broker import Broker
from wireproof_reference_impl.oms.core.documents import JsonObject
from wireproof_reference_impl.oms.core.message import Message
from wireproof_reference_impl.oms.faulty.effect import change_header, number_of, part_of
from wireproof_reference_impl.oms.faulty.ways import (
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_spec.oms import names

ID = "message.message-id-assigned"
BIRTH = "message.born-timestamp-assigned"
PLACE = "message.destination-received"
BODY = "message.body-restored"
_HOUR_MS = 3_600_000
_LARGE = 1000
_NAME = 48


def _keep(name: str) -> Override:
    """Return an override by which a name of the header arrives as the sender set it."""

    def wrong(told: JsonObject, message: Message) -> None:
        if name in message.sent.header:
            told[name] = message.sent.header[name]

    return change_header(wrong)


def _number(name: str, change: Callable[[int], int]) -> Override:
    def wrong(told: JsonObject, message: Message) -> None:
        told[name] = change(number_of(told[name]))

    return change_header(wrong)


def _text(name: str, change: Callable[[str], str]) -> Override:
    def wrong(told: JsonObject, message: Message) -> None:
        told[name] = change(str(told[name]))

    return change_header(wrong)


def _drop(name: str) -> Override:
    def wrong(told: JsonObject, message: Message) -> None:
        del told[name]

    return change_header(wrong)


def _unpacked(change: Callable[[bytes, str], bytes]) -> Override:
    """Return an override that changes a restored body, given with the name of its compression."""

    def wrong(original: Original, data: bytes | None, compression: object) -> bytes | None:
        right: bytes | None = original(data, compression)
        return right if right is None else change(right, str(compression))

    return around(body, "unpack", wrong)


@extra("message.message-id-assigned")
def message_id_of_the_sender() -> Change:
    """A messageId that the sender set is kept."""
    return _keep(names.MESSAGE_ID)


@boundary("message.message-id-assigned", partial(_text, names.MESSAGE_ID))
def message_id_empty(told: str) -> str:
    """The messageId is empty."""
    return ""


@missing("message.message-id-assigned")
def message_id_dropped() -> Change:
    """A message has no messageId."""
    return _drop(names.MESSAGE_ID)


@extra("message.born-timestamp-assigned")
def birth_of_the_sender() -> Change:
    """A bornTimestamp that the sender set is kept."""
    return _keep(names.BORN_TIMESTAMP)


@boundary("message.born-timestamp-assigned", partial(_number, names.BORN_TIMESTAMP))
def birth_an_hour_ahead(told: int) -> int:
    """bornTimestamp lies an hour ahead."""
    return told + _HOUR_MS


@wrong_value("message.born-timestamp-assigned", partial(_number, names.BORN_TIMESTAMP))
def birth_in_seconds(told: int) -> int:
    """bornTimestamp is in seconds."""
    return told // 1000


@missing("message.born-timestamp-assigned", partial(_number, names.BORN_TIMESTAMP))
def birth_is_0(told: int) -> int:
    """bornTimestamp is 0."""
    return 0


@missing("message.destination-received")
def destination_dropped() -> Change:
    """A message has no destination."""
    return _drop(names.DESTINATION)


@boundary("message.destination-received", partial(_text, names.DESTINATION))
def destination_empty(told: str) -> str:
    """The destination is empty."""
    return ""


@wrong_value("message.destination-received", change_header)
def destination_with_partition(told: JsonObject, message: Message) -> None:
    """The destination has the partition behind its name."""
    return told.update({names.DESTINATION: f"{told[names.DESTINATION]}-{message.partition}"})


@missing("message.body-restored", around(body, "unpack"))
def body_still_compressed(
    original: Original, data: bytes | None, compression: object
) -> bytes | None:
    """A compressed body arrives compressed."""
    return data


@boundary("message.body-restored", _unpacked)
def body_compressed_cut(data: bytes, kind: str) -> bytes:
    """A compressed body arrives without its last byte."""
    return data[:-1] if kind in body.COMPRESSIONS else data


@condition("message.body-restored", around(body, "unpack"))
def empty_body_still_compressed(
    original: Original, data: bytes | None, compression: object
) -> bytes | None:
    """An empty body that was compressed arrives compressed."""
    return original(data, compression) or data


@condition("message.body-restored", _unpacked)
def body_large_lost(data: bytes, kind: str) -> bytes:
    """A compressed body of more than 1000 bytes arrives empty."""
    return b"" if kind in body.COMPRESSIONS and len(data) > _LARGE else data


@boundary("message.body-restored", _unpacked)
def body_without_last_zeros(data: bytes, kind: str) -> bytes:
    """A body arrives without the zero bytes at its end."""
    return data.rstrip(b"\0")


@wrong_value("message.body-restored", _unpacked)
def body_line_ends(data: bytes, kind: str) -> bytes:
    """Line ends of CR and LF arrive as LF."""
    return data.replace(b"\r\n", b"\n")


def _answered(change: Callable[[JsonObject, Message], None]) -> Override:
    """Return an override that changes a message's header for its sender alone."""

    def wrong(original: Original, message: Message, behaviour: Behaviour) -> JsonObject:
        document: JsonObject = original(message, behaviour)
        change(part_of(document, names.HEADER), message)
        return document

    return around(documents, "sent_document", wrong)


@condition("message.message-id-assigned", _answered)
def answered_id_empty(told: JsonObject, message: Message) -> None:
    """The message of the sender has an empty messageId after a prepare."""
    if message.transaction_id is not None:
        told[names.MESSAGE_ID] = ""


@condition("message.born-timestamp-assigned", _answered)
def answered_birth_of_the_sender(told: JsonObject, message: Message) -> None:
    """The message of the sender keeps its own bornTimestamp after the call."""
    if names.BORN_TIMESTAMP in message.sent.header:
        told[names.BORN_TIMESTAMP] = message.sent.header[names.BORN_TIMESTAMP]


@boundary("message.destination-received")
def destination_names_cut() -> Change:
    """The names of destinations are cut after 48 characters."""

    def wrong(original: Original, broker: Broker, name: str, *others: object) -> object:
        return original(broker, name[:_NAME], *others)

    return around(Broker, "create_destination", wrong), around(Broker, "_destination", wrong)


FAULTS = list_faults(__name__)
