"""Bytes of NSQ decoded for tests: their entries, the objects those give, the fault at the end."""

from wireproof_kit.decoding.decoded import Broken, Decoded, Entry, JsonObject
from wireproof_kit.nsq.decoding.sources import DecodeOptions, decode_bytes
from wireproof_spec.decoding import encode
from wireproof_spec.nsq.frame import message_frame
from wireproof_spec.nsq.message import Extend, Message, message_schema


def entries(data: bytes, wanted: DecodeOptions | None = None) -> list[Entry]:
    return list(decode_bytes(data, wanted or DecodeOptions()))


def objects(data: bytes, wanted: DecodeOptions | None = None) -> list[JsonObject]:
    return told(entries(data, wanted))


def told(found: list[Entry]) -> list[JsonObject]:
    return [fields for each in found if isinstance(each, Decoded) for fields in each.objects()]


def fault(data: bytes, wanted: DecodeOptions | None = None) -> Broken:
    last = entries(data, wanted)[-1]
    assert isinstance(last, Broken)
    return last


def delivery(header: bytes | None = None, *, extend: bool = True, ordered: bool = False) -> bytes:
    part = Extend(0, None) if header is None else Extend(4, header)
    offset, size = (35, 36) if ordered else (None, None)
    message = Message(10**18, 1, 7, 10, part if extend else None, offset, size, b"body")
    return message_frame(encode(message_schema(extend=extend, ordered=ordered), message))
