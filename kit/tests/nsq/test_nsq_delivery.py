import itertools
import json
from importlib.resources import files

import pytest
from check_each import check_each

from wireproof_kit.nsq.observe.delivery import (
    AS_DUE,
    BARE,
    LAYOUTS,
    UNKNOWN,
    WRONG_LENGTH,
    Layout,
    read_delivery,
)
from wireproof_spec.decoding import encode
from wireproof_spec.nsq.message import Extend, Message, message_schema

BODY = b"wp:0123456789:1;"
EXT = Layout(extend=True, ordered=False)


def built(layout: Layout, header: bytes | None = b'{"k":"v"}') -> bytes:
    extend = None
    if layout.extend:
        none = Extend(0, b"" if layout.length_always else None)
        extend = none if header is None else Extend(4, header)
    offset, size = (5, 60) if layout.ordered else (None, None)
    schema = message_schema(
        extend=layout.extend,
        ordered=layout.ordered,
        length_always=layout.length_always,
        offset_first=layout.offset_first,
    )
    return encode(schema, Message(1, 2, 3, 4, extend, offset, size, BODY))


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_the_layout_due_is_read_as_due(layout: Layout) -> None:
    delivery = read_delivery(built(layout), layout, frozenset({BODY}))

    assert delivery.layout == AS_DUE
    assert delivery.body == BODY
    assert delivery.message is not None
    assert delivery.message.attempts == 2


@check_each(
    itertools.product(itertools.permutations(LAYOUTS, 2), (b'{"k":"v"}', None)),
    lambda row: f"{row[0][0].name} {row[0][1].name} {row[1]!r}",
)
def test_another_layout_is_named_when_the_body_owed_is_in_it(
    row: tuple[tuple[Layout, Layout], bytes | None],
) -> None:
    (due, given), header = row
    data = built(given, header)
    delivery = read_delivery(data, due, frozenset({BODY}))

    named = next(other for other in (due, *LAYOUTS) if delivery.layout in (AS_DUE, other.name))
    assert named.read(data).body == BODY


@check_each(
    [
        ("09 00", "little-endian"),
        ("00 0b", "its own 2 bytes"),
        ("00 0c", "version and length"),
        ("00 08", "00 08"),
        ("00 00 00 09", "4 bytes"),
        ("", "nothing"),
    ]
)
@pytest.mark.parametrize("ordered", [False, True])
def test_a_wrong_ext_length_is_told_as_that(row: tuple[str, str], ordered: bool) -> None:
    written, words = row
    due = Layout(extend=True, ordered=ordered)
    right = built(due)
    data = right[:27] + bytes.fromhex(written) + right[29:]

    delivery = read_delivery(data, due, frozenset({BODY}))

    assert delivery.layout == WRONG_LENGTH
    assert delivery.fault is not None
    assert (delivery.fault.field, delivery.fault.offset) == ("extend.length", 27)
    assert words in delivery.fault.found


def test_a_layout_nobody_knows_is_unknown() -> None:
    delivery = read_delivery(b"\0" * 26, EXT, frozenset({BODY}))

    assert delivery.layout == UNKNOWN
    assert delivery.fault is not None
    assert delivery.message_id == bytes(16)


def test_a_message_too_short_for_an_id_has_none() -> None:
    delivery = read_delivery(b"\0" * 25, BARE)

    assert delivery.message_id is None
    assert delivery.body == b""
    assert delivery.header is None


def recorded(kind: str) -> list[tuple[bytes, int]]:
    text = files("wireproof_spec.nsq").joinpath("golden/nsqd-tcp.jsonl").read_text()
    return [
        (bytes.fromhex(step["hex"])[8:], step["decoded"]["attempts"])
        for row in map(json.loads, text.splitlines())
        for step in row["steps"]
        if row["topic_kind"] == kind and step.get("frame_type") == 2
    ]


RECORDED = {
    "plain": BARE,
    "ordered": Layout(extend=False, ordered=True),
    "ordered+ext": Layout(extend=True, ordered=True),
}


@pytest.mark.parametrize(("kind", "layout"), RECORDED.items(), ids=RECORDED)
def test_recorded_deliveries_have_the_layout_due(kind: str, layout: Layout) -> None:
    deliveries = recorded(kind)
    assert deliveries
    for data, attempts in deliveries:
        delivery = read_delivery(data, layout)
        assert delivery.message is not None
        assert delivery.message.attempts == attempts
