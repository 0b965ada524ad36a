"""Comparing two readers of the same bytes: construct's spans, and the leaves of scapy layers."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from hypothesis import strategies as st
from scapy.packet import Packet

from wireproof_kit.pcap.layer import Layer, LayerViolation, decode_filling
from wireproof_kit.pcap.leaves import Value, leaves
from wireproof_spec.decoding import Schema, decode, spans
from wireproof_spec.wire_error import WireError

Row: TypeAlias = tuple[str, bytes, str]
"""Name of a field, its bytes, and its value where that is a number."""
REFUSED = "refused"
NUMBER = r"-?(\d+(\.\d+)?(e[+-]?\d+)?|inf|nan)"


def rebuilt(layer: Packet) -> bytes:
    """Return bytes built anew from a layer's fields, not those that it was decoded from."""
    again = layer.copy()
    again.clear_cache()
    return bytes(again)


def by_construct(schema: Schema[Any], data: bytes) -> list[Row] | str:
    """Return the fields as the grammar reads them."""
    try:
        decode(schema, data)
    except WireError:
        return REFUSED
    return list(spanned(schema, data))


def spanned(schema: Schema[Any], data: bytes) -> Iterator[Row]:
    """Yield the fields of bytes that decode."""
    for span in spans(schema, data):
        if not span.length:
            continue  # where nothing stands, readers may see a field or none
        part = data[span.offset : span.offset + span.length]
        number = span.value if re.fullmatch(NUMBER, span.value) else ""
        yield _leaf_name(span.field), part, number


def by_scapy(kind: type[Layer], data: bytes, names: Mapping[str, str]) -> list[Row] | str:
    """Return the fields as a layer reads them, by the names that the grammar has for them."""
    try:
        return list(dissected(decode_filling(kind, data), names))
    except LayerViolation:
        return REFUSED


def dissected(layer: Packet, names: Mapping[str, str]) -> Iterator[Row]:
    """Yield the fields of a layer; its bytes are those that it was read from."""
    found = [(_leaf_name(path), data, value) for path, data, value in leaves(layer)]
    assert b"".join(data for _, data, _ in found) == rebuilt(layer) == bytes(layer)
    for name, data, value in found:
        if data:
            yield names.get(name, name), data, _number(value)


def agree(one: list[Row] | str, other: list[Row] | str) -> None:
    """Hold both readings against each other, field by field."""
    if isinstance(one, str) or isinstance(other, str):
        assert one == other
        return
    assert [row[:2] for row in one] == [row[:2] for row in other]
    for (name, _, number), (_, _, read) in zip(one, other, strict=True):
        assert not read or number == read, name


def _number(value: Value) -> str:
    return str(value) if isinstance(value, int | float) else ""


def _leaf_name(path: str) -> str:
    return re.sub(r"\[\d+\]", "", path).rpartition(".")[2]


@st.composite
def changed(draw: st.DrawFn, streams: st.SearchStrategy[bytes]) -> bytes:
    """Draw a stream with a byte or two, or none, replaced by others, and perhaps its end cut."""
    stream = draw(streams)
    at = draw(st.integers(0, len(stream)))
    put = draw(st.binary(max_size=4) | st.sampled_from([b"\xff" * 4, b"\x7f\xff\xff\xff"]))
    end = draw(st.none() | st.integers(0, len(stream)))
    return (stream[:at] + put + stream[at + draw(st.integers(0, 4)) :])[:end]
