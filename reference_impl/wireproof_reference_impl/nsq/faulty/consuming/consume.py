"""Faults of delivered messages: layout, attempts, version."""

from collections.abc import Callable
from struct import pack

from wireproof_reference_impl.nsq.behaviour import Settings
from wireproof_reference_impl.nsq.delivery import message_parts
from wireproof_reference_impl.nsq.delivery.subscriber import Subscriber
from wireproof_reference_impl.nsq.preset import (
    READERS,
    Preset,
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.nsq.wire import packed
from wireproof_reference_impl.nsq.wire.message import Message
from wireproof_reference_impl.overrides import Original, Override, around, replace_function

_INDICATOR = packed.EXTEND_INDICATOR

Part = Callable[[int, bytes], bytes]


def override_extend(part: Part) -> Settings:
    """Return settings under which messages with a header have another ext part."""

    def extend(message: Message) -> bytes:
        if message.header is None:
            return message_parts.short_extend_part(message)
        return part(message.version, message.header)

    return {"delivery.extend": extend}


def count_attempts(attempts: Callable[[int, Message], int]) -> tuple[Override, ...]:
    """Return overrides that change the attempts in the messages that clients receive."""

    def head(original: Original, message: Message, counted: int) -> object:
        return original(message, attempts(counted, message))

    return (around(message_parts, "head", head),)


def with_body(change: Callable[[Message], bytes]) -> tuple[Override, ...]:
    """Return overrides that change the body in the messages that clients receive."""

    def message_data(
        original: Original, message: Message, attempts: int, *, extend: bytes, position: bytes
    ) -> object:
        other = message._replace(body=change(message))
        return original(other, attempts, extend=extend, position=position)

    return (around(message_parts, "message_data", message_data),)


def lose(is_lost: Callable[[Message], bool]) -> tuple[Override, ...]:
    """Return overrides under which some messages are never delivered."""

    def skips(original: Original, subscriber: Subscriber, message: Message) -> object:
        return original(subscriber, message) or is_lost(message)

    return (around(Subscriber, "skips", skips),)


def _plain_part(part: Callable[[Message], bytes]) -> tuple[Override, ...]:
    """Return overrides under which messages of plain topics have an ext part."""

    def message_data(
        original: Original, message: Message, attempts: int, *, extend: bytes, position: bytes
    ) -> object:
        return original(message, attempts, extend=extend or part(message), position=position)

    return (around(message_parts, "message_data", message_data),)


def _extend_behind_body(
    original: Original, message: Message, attempts: int, *, extend: bytes, position: bytes
) -> object:
    other = message._replace(body=message.body + message_parts.short_extend_part(message))
    return original(other, attempts, extend=b"", position=position)


def _length_of_one_byte(version: int, header: bytes) -> bytes:
    return pack(">BH", version, len(header) % 256) + header


def _head_in_microseconds(original: Original, message: Message, attempts: int) -> object:
    return original(message._replace(timestamp_ns=message.timestamp_ns // 1000), attempts)


def _ids_swapped(message: Message, attempts: int) -> bytes:
    return packed.message_head(
        message.timestamp_ns,
        attempts,
        internal_id=message.trace_id,
        trace_id=message.internal_id,
    )


def _ext_on_plain(message: Message) -> bytes:
    return b"\0"


_LAYOUT = "consume.layout"
_ATTEMPTS = "consume.attempts"
_VERSION = "consume.version"
_PLAIN = "consume.plain-topic"

FAULTS: tuple[Preset, ...] = (
    wrong_value(
        "layout-length-little-endian",
        "delivered messages have the ext length in little-endian byte order",
        breaks=_LAYOUT,
        may_break=READERS,
        settings=override_extend(
            lambda version, header: pack("<BH", version, len(header)) + header
        ),
    ),
    wrong_value(
        "layout-length-counts-itself",
        "the ext length of delivered messages includes its own two bytes",
        breaks=_LAYOUT,
        may_break=READERS,
        settings=override_extend(
            lambda version, header: pack(">BH", version, len(header) + 2) + header
        ),
    ),
    extra(
        "layout-length-of-4-bytes",
        "the ext length of delivered messages takes 4 bytes",
        breaks=_LAYOUT,
        may_break=READERS,
        settings=override_extend(
            lambda version, header: pack(">BI", version, len(header)) + header
        ),
    ),
    boundary(
        "layout-length-of-1-byte",
        "the ext length of delivered messages is truncated to one byte",
        breaks=_LAYOUT,
        may_break=(
            "consume.batch consume.body-intact consume.header-intact http.header-stored "
            "parser.header-length"
        ),
        settings=override_extend(_length_of_one_byte),
    ),
    missing(
        "layout-length-missing",
        "delivered messages have no ext length between ext version and ext data",
        breaks=_LAYOUT,
        may_break=READERS,
        settings=override_extend(lambda version, header: bytes([version]) + header),
    ),
    wrong_value(
        "layout-length-before-version",
        "delivered messages have the ext length before the ext version",
        breaks=_LAYOUT,
        may_break=READERS,
        settings=override_extend(
            lambda version, header: pack(">HB", len(header), version) + header
        ),
    ),
    wrong_value(
        "layout-ext-behind-body",
        "delivered messages have the ext part after the body",
        breaks=_LAYOUT,
        may_break=READERS,
        overrides=(around(message_parts, "message_data", _extend_behind_body),),
    ),
    wrong_value(
        "layout-timestamp-microseconds",
        "the timestamp of delivered messages is in microseconds",
        breaks=_LAYOUT,
        may_break="disk.layout",
        overrides=(around(message_parts, "head", _head_in_microseconds),),
    ),
    wrong_value(
        "layout-ids-swapped",
        "delivered message ids have the trace id before the internal id",
        breaks=_LAYOUT,
        # FIN says the id as it came: nothing is finished, and no room made for the next message.
        may_break=f"{READERS} {_ATTEMPTS} disk.layout",
        overrides=(replace_function(message_parts, "head", _ids_swapped),),
    ),
    extra(
        "attempts-with-indicator",
        "delivered attempts still have the indicator bits of the disk format",
        breaks=_ATTEMPTS,
        may_break="consume.plain-topic upgrade.old-messages",
        overrides=count_attempts(lambda attempts, message: attempts | _INDICATOR),
    ),
    condition(
        "attempts-with-indicator-again",
        "from the second delivery on, delivered attempts have the indicator bits of the disk "
        "format",
        breaks=_ATTEMPTS,
        may_break="consume.plain-topic",
        overrides=count_attempts(
            lambda attempts, message: attempts | _INDICATOR if attempts > 1 else attempts
        ),
    ),
    condition(
        "attempts-with-indicator-without-header",
        "delivered attempts of messages without a header have the indicator bits of the disk "
        "format",
        breaks=_ATTEMPTS,
        may_break="consume.plain-topic upgrade.old-messages",
        overrides=count_attempts(
            lambda attempts, message: attempts | _INDICATOR if message.header is None else attempts
        ),
    ),
    boundary(
        "attempts-from-zero",
        "the first delivery of a message has attempts 0",
        breaks=_ATTEMPTS,
        may_break="consume.plain-topic upgrade.old-messages",
        overrides=count_attempts(lambda attempts, message: attempts - 1),
    ),
    missing(
        "attempts-always-one",
        "every delivery of a message has attempts 1",
        breaks=_ATTEMPTS,
        may_break="consume.plain-topic",
        overrides=count_attempts(lambda attempts, message: 1),
    ),
    boundary(
        "attempts-stop-at-two",
        "attempts never exceed 2",
        breaks=_ATTEMPTS,
        may_break="consume.plain-topic",
        overrides=count_attempts(lambda attempts, message: min(attempts, 2)),
    ),
    wrong_value(
        "attempts-by-two",
        "each redelivery increases attempts by 2",
        breaks=_ATTEMPTS,
        may_break="consume.plain-topic",
        overrides=count_attempts(lambda attempts, message: 2 * attempts - 1),
    ),
    wrong_value(
        "version-zero",
        "a message with a header is delivered with ext version 0",
        breaks=_VERSION,
        may_break=READERS,
        settings=override_extend(lambda version, header: packed.extend_part(0, header)),
    ),
    boundary(
        "version-zero-on-long-headers",
        "a message with a header above 255 bytes is delivered with ext version 0",
        breaks=_VERSION,
        may_break=(
            "consume.batch consume.body-intact consume.header-intact consume.layout "
            "http.header-stored parser.header-length"
        ),
        settings=override_extend(
            lambda version, header: packed.extend_part(version if len(header) < 256 else 0, header)
        ),
    ),
    boundary(
        "version-zero-on-empty-header",
        "a message with the header {} is delivered with ext version 0",
        breaks=_VERSION,
        may_break=(
            "consume.batch consume.body-intact consume.header-intact consume.layout "
            "http.header-stored parser.header-length"
        ),
        settings=override_extend(
            lambda version, header: packed.extend_part(0 if header == b"{}" else version, header)
        ),
    ),
    extra(
        "plain-with-version",
        "messages of topics without ext support are delivered with an ext version",
        breaks=_PLAIN,
        may_break="upgrade.old-messages subscribe.tag-ignored",
        overrides=_plain_part(_ext_on_plain),
    ),
    extra(
        "plain-with-version-and-length",
        "messages of topics without ext support are delivered with an empty ext part",
        breaks=_PLAIN,
        may_break="upgrade.old-messages subscribe.tag-ignored",
        overrides=_plain_part(lambda message: bytes(3)),
    ),
    wrong_value(
        "plain-with-indicator",
        "attempts of messages of topics without ext support have the indicator bits of the disk "
        "format",
        breaks=_PLAIN,
        may_break="upgrade.old-messages",
        overrides=count_attempts(
            lambda attempts, message: attempts | _INDICATOR if message.old else attempts
        ),
    ),
    boundary(
        "plain-with-version-above-4096",
        "messages above 4096 bytes of topics without ext support are delivered with an ext "
        "version",
        breaks=_PLAIN,
        overrides=_plain_part(lambda message: b"\0" if len(message.body) > 4096 else b""),
    ),
)
