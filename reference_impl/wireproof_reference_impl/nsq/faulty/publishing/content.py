"""Faults of the content of delivered messages: header and body."""

import json
import re

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.nsq.faulty.consuming.consume import Part, override_extend, with_body
from wireproof_reference_impl.nsq.faulty.ways import boundary, condition, missing, wrong_value
from wireproof_reference_impl.nsq.wire import packed
from wireproof_reference_impl.nsq.wire.header import reader
from wireproof_reference_impl.nsq.wire.message import Message
from wireproof_spec.strict_json import members_of


def _limited_length(most: int) -> Part:
    """Return an ext part whose header is cut to `most` bytes."""
    return lambda version, header: packed.extend_part(version, header[:most])


@boundary("consume.header-intact consume.layout")
def header_cut_at_255() -> Change:
    """Headers are truncated to 255 bytes."""
    return override_extend(_limited_length(255))


@boundary("consume.header-intact consume.layout")
def header_cut_at_4096() -> Change:
    """Headers are truncated to 4096 bytes."""
    return override_extend(_limited_length(4096))


@boundary("consume.layout")
def header_cut_at_32767() -> Change:
    """Headers are truncated to 32767 bytes."""
    return override_extend(_limited_length(32767))


@missing("consume.header-intact consume.version consume.layout", override_extend)
def header_lost(version: int, header: bytes) -> bytes:
    """A message with a header is delivered without the header."""
    return b"\0"


def _as_doubles(version: int, header: bytes) -> bytes:
    doubles = re.sub(rb":([0-9]{16,})", lambda found: b":%d" % float(found[1]), header)
    return packed.extend_part(version, doubles)


@wrong_value("consume.number-precision")
def header_numbers_as_doubles() -> Change:
    """Numbers in headers are accepted, and delivered with the precision of a double."""
    return {**override_extend(_as_doubles), "publish.header": reader(values=lambda _: None)}


@boundary("consume.body-intact", with_body)
def body_without_last_line_feed(message: Message) -> bytes:
    """A line feed at the end of a body is removed."""
    return message.body.removesuffix(b"\n")


@condition("consume.body-intact", with_body)
def body_behind_odd_header(message: Message) -> bytes:
    """The first body byte is lost if the header's length is odd and above 200."""
    length = 0 if message.header is None else len(message.header)
    return message.body[1:] if length % 2 == 1 and length > 200 else message.body


@condition("consume.body-intact publish.pub-on-ext-topic", with_body)
def body_without_header(message: Message) -> bytes:
    """On ext topics, a message without a header loses its first body byte."""
    return message.body[1:] if message.header is None and not message.old else message.body


@boundary("consume.body-intact", with_body)
def body_cut_at_nul(message: Message) -> bytes:
    """Bodies are truncated at the first NUL byte."""
    return message.body.partition(b"\0")[0]


@boundary("consume.body-intact", with_body)
def body_cut_at_65535(message: Message) -> bytes:
    """Bodies are truncated to 65535 bytes."""
    return message.body[:65535]


@wrong_value("consume.body-intact", with_body)
def body_as_text(message: Message) -> bytes:
    """Body bytes that are not valid UTF-8 are replaced."""
    return message.body.decode("utf-8", "replace").encode()


@boundary("consume.body-intact", with_body)
def body_wrong_above_4096(message: Message) -> bytes:
    """Bodies above 4096 bytes lose their last byte."""
    return message.body[:-1] if len(message.body) > 4096 else message.body


@missing("consume.body-intact", with_body)
def body_cut_when_sent(message: Message) -> bytes:
    """The last byte of a body is left out when the message is sent to a client."""
    return message.body[:-1]


def _lower(header: bytes) -> bytes:
    try:
        fields = json.loads(header)
    except ValueError:
        return header
    if all(name == name.lower() for name in members_of(fields)):
        return header
    lowered = {name.lower(): value for name, value in members_of(fields).items()}
    return json.dumps(lowered, separators=(",", ":")).encode()


@wrong_value("consume.header-intact", override_extend)
def header_names_in_lower_case(version: int, header: bytes) -> bytes:
    """Header names are sent to clients in lower case."""
    return packed.extend_part(version, _lower(header))


def _change(header: bytes) -> bytes:
    return header[:-3] + b"!" + header[-2:] if header.endswith(b'"}') else header


@wrong_value("consume.header-intact", override_extend)
def header_value_changed_when_sent(version: int, header: bytes) -> bytes:
    """The last letter of a header's last value is another when it is sent to a client."""
    return packed.extend_part(version, _change(header))


FAULTS = list_faults(__name__)
