"""Faults of the content of delivered messages: header and body."""

import json
from typing import cast

from wireproof_reference_impl.nsq.faulty.consuming.consume import Part, override_extend, with_body
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


def _limited_length(most: int) -> Part:
    """Return an ext part whose header is cut to `most` bytes."""
    return lambda version, header: packed.extend_part(version, header[:most])


def _lower(header: bytes) -> bytes:
    try:
        fields = json.loads(header)
    except ValueError:
        return header
    if not isinstance(fields, dict):
        return header
    named = cast(dict[str, object], fields)
    if all(name == name.lower() for name in named):
        return header
    lowered = {name.lower(): value for name, value in named.items()}
    return json.dumps(lowered, separators=(",", ":")).encode()


def _change(header: bytes) -> bytes:
    return header[:-3] + b"!" + header[-2:] if header.endswith(b'"}') else header


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
    boundary(
        "header-cut-at-255",
        "headers are truncated to 255 bytes",
        breaks=f"{_HEADER} {_LAYOUT}",
        may_break="consume.batch consume.body-intact http.header-stored parser.header-length",
        settings=override_extend(_limited_length(255)),
    ),
    boundary(
        "header-cut-at-4096",
        "headers are truncated to 4096 bytes",
        breaks=f"{_HEADER} {_LAYOUT}",
        may_break="consume.body-intact parser.header-length",
        settings=override_extend(_limited_length(4096)),
    ),
    boundary(
        "header-cut-at-32767",
        "headers are truncated to 32767 bytes",
        breaks=_LAYOUT,
        may_break="consume.body-intact parser.header-length",
        settings=override_extend(_limited_length(32767)),
    ),
    missing(
        "header-lost",
        "a message with a header is delivered without the header",
        breaks=f"{_HEADER} {_VERSION} {_LAYOUT}",
        may_break=READERS,
        settings=override_extend(lambda version, header: b"\0"),
    ),
    boundary(
        "body-without-last-line-feed",
        "a line feed at the end of a body is removed",
        breaks=_BODY,
        may_break="upgrade.old-messages consume.plain-topic",
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
        breaks=f"{_BODY} publish.pub-on-ext-topic",
        may_break=READERS,
        overrides=with_body(_first_byte_lost_without_header),
    ),
    boundary(
        "body-cut-at-nul",
        "bodies are truncated at the first NUL byte",
        breaks=_BODY,
        may_break="consume.plain-topic http.accept publish.accept upgrade.old-messages",
        overrides=with_body(lambda message: message.body.partition(b"\0")[0]),
    ),
    boundary(
        "body-cut-at-65535",
        "bodies are truncated to 65535 bytes",
        breaks=_BODY,
        may_break="consume.plain-topic http.accept publish.accept upgrade.old-messages",
        overrides=with_body(lambda message: message.body[:65535]),
    ),
    wrong_value(
        "body-as-text",
        "body bytes that are not valid UTF-8 are replaced",
        breaks=_BODY,
        may_break="consume.plain-topic http.accept publish.accept upgrade.old-messages",
        overrides=with_body(lambda message: message.body.decode("utf-8", "replace").encode()),
    ),
    boundary(
        "body-wrong-above-4096",
        "bodies above 4096 bytes lose their last byte",
        breaks=_BODY,
        may_break="consume.plain-topic http.accept publish.accept upgrade.old-messages",
        overrides=with_body(
            lambda message: message.body[:-1] if len(message.body) > 4096 else message.body
        ),
    ),
    missing(
        "body-cut-when-sent",
        "the last byte of a body is left out when the message is sent to a client",
        breaks=_BODY,
        may_break=f"{READERS} {_LAYOUT} consume.attempts {_HEADER} {_VERSION}",
        overrides=with_body(lambda message: message.body[:-1]),
    ),
    wrong_value(
        "header-names-in-lower-case",
        "header names are sent to clients in lower case",
        breaks=_HEADER,
        may_break=READERS,
        settings=override_extend(
            lambda version, header: packed.extend_part(version, _lower(header))
        ),
    ),
    wrong_value(
        "header-value-changed-when-sent",
        "the last letter of a header's last value is another when it is sent to a client",
        breaks=_HEADER,
        may_break=READERS,
        settings=override_extend(
            lambda version, header: packed.extend_part(version, _change(header))
        ),
    ),
)
