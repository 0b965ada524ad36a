"""Faults of messages as clients receive them: layout, attempts, header and body."""

import json
from collections.abc import Callable
from struct import pack

from wireproof_reference_impl.nsq.behaviour import Settings
from wireproof_reference_impl.nsq.core import delivery, packed
from wireproof_reference_impl.nsq.core.message import Message
from wireproof_reference_impl.nsq.core.upgrading import TopicKind
from wireproof_reference_impl.nsq.preset import Preset, fault

_INDICATOR = packed.EXTEND_INDICATOR

Part = Callable[[int, bytes], bytes]


def _extend(part: Part) -> Settings:
    """Return settings under which the ext part of a message with a header looks so."""

    def extend(message: Message) -> bytes:
        if message.header is None:
            return delivery.short_extend_part(message)
        return part(message.version, message.header)

    return {"delivery.extend": extend}


def _counted(attempts: Callable[[int, Message], int]) -> Settings:
    return {"delivery.attempts": attempts}


def _stored_header(change: Callable[[bytes], bytes]) -> Settings:

    def stored(header: bytes, topic: TopicKind) -> bytes:
        return change(header)

    return {"publish.stored_header": stored}


def _plain_part(part: Callable[[Message], bytes]) -> Settings:
    return {"delivery.plain_part": part}


def _body(change: Callable[[Message], bytes]) -> Settings:
    return {"delivery.body": change}


def _limited_length(most: int) -> Part:
    """Return an ext part whose header is cut to what its writer can count."""
    return lambda version, header: packed.extend_part(version, header[:most])


def _length_of_one_byte(version: int, header: bytes) -> bytes:
    return pack(">BH", version, len(header) % 256) + header


def _head_in_microseconds(message: Message, attempts: int) -> bytes:
    return delivery.head(message._replace(timestamp_ns=message.timestamp_ns // 1000), attempts)


def _ids_swapped(message: Message, attempts: int) -> bytes:
    return packed.message_head(
        message.timestamp_ns,
        attempts,
        internal_id=message.trace_id,
        trace_id=message.internal_id,
    )


def _extend_behind_body(message: Message) -> bytes:
    return message.body + delivery.short_extend_part(message)


def _marshalled_anew(header: bytes) -> bytes:
    return json.dumps(json.loads(header), sort_keys=True, separators=(",", ":")).encode()


def _without_internal_names(header: bytes) -> bytes:
    fields = json.loads(header)
    kept = {name: value for name, value in fields.items() if not name.startswith("##")}
    return header if kept == fields else json.dumps(kept, separators=(",", ":")).encode()


def _ext_on_plain(message: Message) -> bytes:
    return b"\0"


def _first_byte_lost_behind_odd_header(message: Message) -> bytes:
    odd = message.header is not None and len(message.header) % 2 == 1
    return message.body[1:] if odd else message.body


def _first_byte_lost_without_header(message: Message) -> bytes:
    return message.body[1:] if message.header is None and not message.old else message.body


_LAYOUT = "consume.layout"
_ATTEMPTS = "consume.attempts"
_HEADER = "consume.header-intact"
_BODY = "consume.body-intact"
_VERSION = "consume.version"
_PLAIN = "consume.plain-topic"

FAULTS: tuple[Preset, ...] = (
    fault(
        "layout-length-little-endian",
        "the length of ext is delivered in little-endian byte order",
        breaks=_LAYOUT,
        settings=_extend(lambda version, header: pack("<BH", version, len(header)) + header),
    ),
    fault(
        "layout-length-counts-itself",
        "the length of ext counts its own two bytes",
        breaks=_LAYOUT,
        settings=_extend(lambda version, header: pack(">BH", version, len(header) + 2) + header),
    ),
    fault(
        "layout-length-of-4-bytes",
        "the length of ext takes 4 bytes",
        breaks=_LAYOUT,
        settings=_extend(lambda version, header: pack(">BI", version, len(header)) + header),
    ),
    fault(
        "layout-length-of-1-byte",
        "the length of ext is right modulo 256 only",
        breaks=_LAYOUT,
        settings=_extend(_length_of_one_byte),
    ),
    fault(
        "layout-length-missing",
        "the ext data follows the version of ext without a length",
        breaks=_LAYOUT,
        settings=_extend(lambda version, header: bytes([version]) + header),
    ),
    fault(
        "layout-length-before-version",
        "the length of ext stands before its version",
        breaks=_LAYOUT,
        settings=_extend(lambda version, header: pack(">HB", len(header), version) + header),
    ),
    fault(
        "layout-ext-behind-body",
        "the ext part is delivered behind the body",
        breaks=_LAYOUT,
        settings={
            "delivery.extend": delivery.no_extend_part,
            "delivery.body": _extend_behind_body,
        },
    ),
    fault(
        "layout-timestamp-microseconds",
        "the timestamp counts microseconds",
        breaks=_LAYOUT,
        settings={"delivery.head": _head_in_microseconds},
    ),
    fault(
        "layout-ids-swapped",
        "the trace id stands before the internal id",
        breaks=_LAYOUT,
        settings={"delivery.head": _ids_swapped},
    ),
    fault(
        "attempts-with-indicator",
        "delivered attempts keep the indicator of the disk",
        breaks=_ATTEMPTS,
        settings=_counted(lambda attempts, message: attempts | _INDICATOR),
    ),
    fault(
        "attempts-with-indicator-again",
        "delivered attempts have the indicator from the second delivery on",
        breaks=_ATTEMPTS,
        settings=_counted(
            lambda attempts, message: attempts | _INDICATOR if attempts > 1 else attempts
        ),
    ),
    fault(
        "attempts-with-indicator-without-header",
        "delivered attempts have the indicator on messages without a header",
        breaks=_ATTEMPTS,
        settings=_counted(
            lambda attempts, message: attempts | _INDICATOR if message.header is None else attempts
        ),
    ),
    fault(
        "attempts-from-zero",
        "the first delivery counts 0",
        breaks=_ATTEMPTS,
        settings=_counted(lambda attempts, message: attempts - 1),
    ),
    fault(
        "attempts-always-one",
        "attempts stay at 1",
        breaks=_ATTEMPTS,
        settings=_counted(lambda attempts, message: 1),
    ),
    fault(
        "attempts-stop-at-two",
        "attempts count up to 2 and no further",
        breaks=_ATTEMPTS,
        settings=_counted(lambda attempts, message: min(attempts, 2)),
    ),
    fault(
        "attempts-by-two",
        "each redelivery counts two more",
        breaks=_ATTEMPTS,
        settings=_counted(lambda attempts, message: 2 * attempts - 1),
    ),
    fault(
        "header-marshalled-anew",
        "a header published over TCP is read and written anew, names sorted",
        breaks=_HEADER,
        settings=_stored_header(_marshalled_anew),
    ),
    fault(
        "header-stripped",
        "white space around a header is lost",
        breaks=_HEADER,
        settings=_stored_header(bytes.strip),
    ),
    fault(
        "header-without-internal-names",
        "names that begin with ## are taken out of the header",
        breaks=_HEADER,
        settings=_stored_header(_without_internal_names),
    ),
    fault(
        "header-unescaped",
        "escaped slashes in a header lose their backslash",
        breaks=_HEADER,
        settings=_stored_header(lambda header: header.replace(rb"\/", b"/")),
    ),
    fault(
        "header-markup-escaped",
        "<, > and & in a header are escaped",
        breaks=_HEADER,
        settings=_stored_header(lambda header: header.replace(b"<", rb"\u003c")),
    ),
    fault(
        "header-cut-at-255",
        "headers lose what is beyond 255 bytes",
        breaks=f"{_HEADER} {_LAYOUT}",
        settings=_extend(_limited_length(255)),
    ),
    fault(
        "header-cut-at-4096",
        "headers lose what is beyond 4096 bytes",
        breaks=f"{_HEADER} {_LAYOUT}",
        settings=_extend(_limited_length(4096)),
    ),
    fault(
        "header-cut-at-32767",
        "headers lose what is beyond 32767 bytes",
        breaks=_LAYOUT,
        settings=_extend(_limited_length(32767)),
    ),
    fault(
        "header-lost",
        "a message with a header is delivered without it",
        breaks=f"{_HEADER} {_VERSION} {_LAYOUT}",
        settings=_extend(lambda version, header: b"\0"),
    ),
    fault(
        "body-without-last-line-feed",
        "the last line feed of a body is lost",
        breaks=_BODY,
        settings=_body(lambda message: message.body.removesuffix(b"\n")),
    ),
    fault(
        "body-behind-odd-header",
        "the first byte of the body is lost when the header's length is odd",
        breaks=_BODY,
        settings=_body(_first_byte_lost_behind_odd_header),
    ),
    fault(
        "body-without-header",
        "the first byte of the body of a message without a header is lost on ext topics",
        breaks=_BODY,
        settings=_body(_first_byte_lost_without_header),
    ),
    fault(
        "body-cut-at-nul",
        "a body ends at its first NUL",
        breaks=_BODY,
        settings=_body(lambda message: message.body.partition(b"\0")[0]),
    ),
    fault(
        "body-cut-at-65535",
        "bodies lose what is beyond 65535 bytes",
        breaks=_BODY,
        settings=_body(lambda message: message.body[:65535]),
    ),
    fault(
        "body-as-text",
        "bytes of a body that are no UTF-8 are replaced",
        breaks=_BODY,
        settings=_body(lambda message: message.body.decode("utf-8", "replace").encode()),
    ),
    fault(
        "body-wrong-above-4096",
        "bodies above 4096 bytes lose their last byte",
        breaks=_BODY,
        settings=_body(
            lambda message: message.body[:-1] if len(message.body) > 4096 else message.body
        ),
    ),
    fault(
        "version-zero",
        "a message with a header has version 0",
        breaks=_VERSION,
        settings=_extend(lambda version, header: packed.extend_part(0, header)),
    ),
    fault(
        "version-zero-on-long-headers",
        "a message with a header above 255 bytes has version 0",
        breaks=_VERSION,
        settings=_extend(
            lambda version, header: packed.extend_part(version if len(header) < 256 else 0, header)
        ),
    ),
    fault(
        "version-zero-on-empty-header",
        "a message with the header {} has version 0",
        breaks=_VERSION,
        settings=_extend(
            lambda version, header: packed.extend_part(0 if header == b"{}" else version, header)
        ),
    ),
    fault(
        "plain-with-version",
        "messages of plain topics have a version of ext",
        breaks=_PLAIN,
        settings=_plain_part(_ext_on_plain),
    ),
    fault(
        "plain-with-version-and-length",
        "messages of plain topics have an empty ext part",
        breaks=_PLAIN,
        settings=_plain_part(lambda message: bytes(3)),
    ),
    fault(
        "plain-with-indicator",
        "attempts of plain topics have the indicator bits",
        breaks=_PLAIN,
        settings=_counted(
            lambda attempts, message: attempts | _INDICATOR if message.old else attempts
        ),
    ),
    fault(
        "plain-with-version-above-4096",
        "messages of plain topics with bodies above 4096 bytes have a version of ext",
        breaks=_PLAIN,
        settings=_plain_part(lambda message: b"\0" if len(message.body) > 4096 else b""),
    ),
)
