"""Alternatives of headers: how they are read, what of them is kept, and how they are spelled."""

import json
from collections.abc import Callable
from urllib.parse import quote_from_bytes

from wireproof_reference_impl.nsq.core.commands import publish, publish_ext
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.core.topic import Partition
from wireproof_reference_impl.nsq.delivery import message_parts
from wireproof_reference_impl.nsq.http import publish as http_publish
from wireproof_reference_impl.nsq.requests import http_deployed, http_header
from wireproof_reference_impl.nsq.requests.http_header import Fields, collect_added
from wireproof_reference_impl.nsq.wire import deployed, frame_reading, header, packed
from wireproof_reference_impl.nsq.wire.frame_reading import Split
from wireproof_reference_impl.nsq.wire.go_text import marshal
from wireproof_reference_impl.nsq.wire.header import Header
from wireproof_reference_impl.nsq.wire.message import Message, NewMessage
from wireproof_reference_impl.nsq.wire.refusal import Refusal
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_reference_impl.preset import Preset, alternative
from wireproof_spec.nsq.error_codes import E_BAD_MESSAGE
from wireproof_spec.strict_json import is_object

_MOST_HEADER_BYTES = 2_048
_MOST_BODY_BYTES = 100_000
_MOST_STORED_BYTES = 0xFFFF
_INTERNAL = "##"

Spell = Callable[[object], str]


def _go_map(value: object) -> str:
    return marshal(value)


def _spacious(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=True)


def _respell(data: bytes, spell: Spell) -> bytes:
    try:
        value = json.loads(data)
    except ValueError:
        return data
    return spell(value).encode("utf-8", "surrogatepass")


def _round_numbers(data: bytes) -> bytes:
    try:
        value = json.loads(data, parse_int=float)
    except ValueError:
        return data
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode(
        "utf-8", "surrogatepass"
    )


def _strip(data: bytes) -> bytes:
    try:
        value = json.loads(data)
    except ValueError:
        return data
    if not is_object(value):
        return data
    kept = {name: member for name, member in value.items() if not name.startswith(_INTERNAL)}
    if len(kept) == len(value):
        return data
    return json.dumps(kept, separators=(",", ":"), ensure_ascii=False).encode(
        "utf-8", "surrogatepass"
    )


def _without_internal(message: Message) -> bytes:
    if message.header is None:
        return message_parts.short_extend_part(message)
    return packed.extend_part(message.version, _strip(message.header))


def _store_changed(change: Callable[[bytes], bytes]) -> tuple[Override, ...]:
    """Return overrides under which headers are stored so, over TCP and over HTTP."""

    def entry(
        original: Callable[..., NewMessage], partition: Partition, read: Header, split: Split
    ) -> NewMessage:
        return _with_header(original(partition, read, split), change)

    def ext_entry(
        original: Callable[..., NewMessage], request: object, stored: bytes, read: Header
    ) -> NewMessage:
        return _with_header(original(request, stored, read), change)

    return (
        around(publish_ext, "entry", entry),
        around(http_publish, "ext_entry", ext_entry),
    )


def _with_header(entry: NewMessage, change: Callable[[bytes], bytes]) -> NewMessage:
    """Return a message with its header changed, unless that would be longer than it may be."""
    changed = change(entry.header or b"")
    return entry._replace(header=changed) if len(changed) <= _MOST_STORED_BYTES else entry


def _limit(read: header.ReadHeader) -> header.ReadHeader:
    def limited(data: bytes) -> Header:
        if len(data) > _MOST_HEADER_BYTES:
            raise header.refuse_header("header too long")
        return read(data)

    return limited


def _no_names(fields: header.Fields) -> None:
    """Let every name through."""


def _no_values(fields: header.Fields) -> None:
    """Let every value through."""


def _read_leniently(data: bytes) -> Header:
    """Return the fields needed from a header that is an object by a lenient reader of JSON."""
    if not data.lstrip(b" \t\r\n").startswith(b"{"):
        raise header.refuse_header("not an object")
    return deployed.read_header(data)


def _build_leniently(ext: bytes, extra: Fields) -> bytes:
    """Build a header as the measured broker does, but with ext decoded only once."""
    return http_deployed.build_header(quote_from_bytes(ext, safe="").encode(), extra)


def _small_bodies(
    original: Original, connection: Connection, partition: Partition, entries: list[NewMessage]
) -> object:
    if any(len(entry.body) > _MOST_BODY_BYTES for entry in entries):
        raise Refusal(E_BAD_MESSAGE, "message too big", fatal=False)
    return original(connection, partition, entries)


def _split_empty(original: Callable[..., Split | None], data: bytes) -> Split | None:
    length = int.from_bytes(data[:2])
    whole = len(data) == 2 + length
    return Split(data[2:], b"") if whole and length else original(data)


def _single_quotes(ext: bytes, extra: Fields) -> bytes:
    """Build a header from an ext that may be spelled as in the published example."""
    if b'"' not in ext:
        ext = ext.replace(b"'", b'"')
    return http_header.make_stored(ext, extra)


def _ext_wins(ext: bytes, extra: Fields) -> bytes:
    fields = header.checked_object(ext)
    header.check_values(fields)
    return http_header.compact({**collect_added(extra), **fields}) if extra else ext


_ANY_VALUE = header.reader(values=_no_values)
_ANY_NAME = header.reader(names=_no_names)
_LENIENT = {
    "publish.header": _read_leniently,
    "http.build_header": _build_leniently,
    "http.header": http_deployed.read_header,
}

ALTERNATIVES: tuple[Preset, ...] = (
    alternative(
        "headers-sorted",
        "headers are stored as serialized again: names sorted, markup escaped",
        overrides=_store_changed(lambda data: _respell(data, _go_map)),
    ),
    alternative(
        "headers-spaced",
        "headers are stored as serialized again: indented, all but ASCII escaped",
        overrides=_store_changed(lambda data: _respell(data, _spacious)),
    ),
    alternative(
        "headers-without-internal-names",
        "names that begin with ## are not delivered",
        {"delivery.extend": _without_internal},
    ),
    alternative(
        "header-numbers-as-floats",
        "header values may be any JSON, and numbers keep the precision of 64-bit floats",
        {"publish.header": _ANY_VALUE},
        overrides=_store_changed(_round_numbers),
    ),
    alternative(
        "header-values-any",
        "header values may be any JSON",
        {"publish.header": _ANY_VALUE},
    ),
    alternative(
        "header-names-any",
        "header names may have any letters, also ## before names that do not exist",
        {"publish.header": _ANY_NAME, "http.header": _ANY_NAME},
    ),
    alternative(
        "headers-read-leniently",
        "header objects are read as by the measured broker: duplicate names, nesting, and more",
        _LENIENT,
    ),
    alternative(
        "header-limit",
        "headers of more than 2048 bytes are refused",
        {
            "publish.header": _limit(header.published),
            "http.header": _limit(header.published),
        },
    ),
    alternative(
        "body-limit",
        "bodies of more than 100000 bytes are refused over TCP",
        overrides=(around(publish, "store", _small_bodies),),
    ),
    alternative(
        "ext-body-may-be-empty",
        "PUB_EXT with nothing behind its header publishes an empty message",
        overrides=(around(frame_reading, "split_header", _split_empty),),
    ),
    alternative(
        "http-single-quotes",
        "an ext with single quotes is read as in the published example",
        {"http.build_header": _single_quotes},
    ),
    alternative(
        "http-ext-wins",
        "a name both in ext and in a request header keeps the value of ext",
        {"http.build_header": _ext_wins},
    ),
)
