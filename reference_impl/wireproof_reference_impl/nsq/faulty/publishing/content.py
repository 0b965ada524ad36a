"""Faults of what messages hold when clients receive them: header and body."""

import json
from collections.abc import Callable

from wireproof_reference_impl.nsq.faulty.consuming.consume import Part, extending, with_body
from wireproof_reference_impl.nsq.faulty.shared_overrides import storing_header
from wireproof_reference_impl.nsq.preset import (
    READERS,
    Preset,
    boundary,
    condition,
    missing,
    wrong_value,
)
from wireproof_reference_impl.nsq.wire import packed
from wireproof_reference_impl.nsq.wire.message import Message
from wireproof_reference_impl.overrides import Override


def _stored_header(change: Callable[[bytes], bytes]) -> tuple[Override, ...]:
    """Return overrides under which headers are stored so."""
    return (storing_header(lambda header, topic: change(header)),)


def _limited_length(most: int) -> Part:
    """Return an ext part whose header is cut to what its writer can count."""
    return lambda version, header: packed.extend_part(version, header[:most])


def _marshalled_anew(header: bytes) -> bytes:
    return json.dumps(json.loads(header), sort_keys=True, separators=(",", ":")).encode()


def _without_internal_names(header: bytes) -> bytes:
    fields = json.loads(header)
    kept = {name: value for name, value in fields.items() if not name.startswith("##")}
    return header if kept == fields else json.dumps(kept, separators=(",", ":")).encode()


def _first_byte_lost_behind_odd_header(message: Message) -> bytes:
    length = 0 if message.header is None else len(message.header)
    return message.body[1:] if length % 2 == 1 and length > 200 else message.body


def _first_byte_lost_without_header(message: Message) -> bytes:
    return message.body[1:] if message.header is None and not message.old else message.body


_LAYOUT = "consume.layout"
_HEADER = "consume.header-intact"
_BODY = "consume.body-intact"
_VERSION = "consume.version"

FAULTS: tuple[Preset, ...] = (
    wrong_value(
        "header-marshalled-anew",
        "a header published over TCP is parsed and serialized again, with its names sorted",
        breaks=_HEADER,
        may_break="disk.layout",
        overrides=_stored_header(_marshalled_anew),
    ),
    boundary(
        "header-stripped",
        "white space around a header is removed",
        breaks=_HEADER,
        may_break="disk.layout",
        overrides=_stored_header(bytes.strip),
    ),
    missing(
        "header-without-internal-names",
        "header names that begin with ## are removed",
        breaks=_HEADER,
        may_break="consume.batch disk.layout publish.mpub-ext upgrade.subscribe-rules",
        overrides=_stored_header(_without_internal_names),
    ),
    wrong_value(
        "header-unescaped",
        "escaped slashes in a header lose their backslash",
        breaks=_HEADER,
        may_break="disk.layout",
        overrides=_stored_header(lambda header: header.replace(rb"\/", b"/")),
    ),
    wrong_value(
        "header-markup-escaped",
        "<, > and & in a header are escaped",
        breaks=_HEADER,
        may_break="disk.layout",
        overrides=_stored_header(lambda header: header.replace(b"<", rb"\u003c")),
    ),
    boundary(
        "header-cut-at-255",
        "headers are truncated to 255 bytes",
        breaks=f"{_HEADER} {_LAYOUT}",
        may_break="consume.batch consume.body-intact http.header-stored parser.header-length",
        settings=extending(_limited_length(255)),
    ),
    boundary(
        "header-cut-at-4096",
        "headers are truncated to 4096 bytes",
        breaks=f"{_HEADER} {_LAYOUT}",
        may_break="consume.body-intact parser.header-length",
        settings=extending(_limited_length(4096)),
    ),
    boundary(
        "header-cut-at-32767",
        "headers are truncated to 32767 bytes",
        breaks=_LAYOUT,
        may_break="consume.body-intact parser.header-length",
        settings=extending(_limited_length(32767)),
    ),
    missing(
        "header-lost",
        "a message with a header is delivered without the header",
        breaks=f"{_HEADER} {_VERSION} {_LAYOUT}",
        may_break=READERS,
        settings=extending(lambda version, header: b"\0"),
    ),
    boundary(
        "body-without-last-line-feed",
        "a line feed at the end of a body is removed",
        breaks=_BODY,
        may_break="upgrade.old-messages",
        overrides=with_body(lambda message: message.body.removesuffix(b"\n")),
    ),
    condition(
        "body-behind-odd-header",
        "the first body byte is lost if the header's length is odd and above 200",
        breaks=_BODY,
        may_break=(
            "consume.header-intact consume.layout dispatch.to-matching parser.header-length "
            "publish.accept"
        ),
        overrides=with_body(_first_byte_lost_behind_odd_header),
    ),
    condition(
        "body-without-header",
        "on ext topics, a message without a header loses its first body byte",
        breaks=_BODY,
        may_break=READERS,
        overrides=with_body(_first_byte_lost_without_header),
    ),
    boundary(
        "body-cut-at-nul",
        "bodies are truncated at the first NUL byte",
        breaks=_BODY,
        may_break="consume.plain-topic http.accept parser.segmentation upgrade.old-messages",
        overrides=with_body(lambda message: message.body.partition(b"\0")[0]),
    ),
    boundary(
        "body-cut-at-65535",
        "bodies are truncated to 65535 bytes",
        breaks=_BODY,
        may_break="consume.plain-topic http.accept parser.segmentation upgrade.old-messages",
        overrides=with_body(lambda message: message.body[:65535]),
    ),
    wrong_value(
        "body-as-text",
        "body bytes that are not valid UTF-8 are replaced",
        breaks=_BODY,
        may_break="consume.plain-topic http.accept parser.segmentation upgrade.old-messages",
        overrides=with_body(lambda message: message.body.decode("utf-8", "replace").encode()),
    ),
    boundary(
        "body-wrong-above-4096",
        "bodies above 4096 bytes lose their last byte",
        breaks=_BODY,
        may_break="consume.plain-topic http.accept parser.segmentation upgrade.old-messages",
        overrides=with_body(
            lambda message: message.body[:-1] if len(message.body) > 4096 else message.body
        ),
    ),
)
