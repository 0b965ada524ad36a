"""Every mutation changes what it says and nothing else, in frames of every kind."""

import json

import pytest
from check_each import check_each
from fuzz_grammars import EACH_KIND, GRAMMARS, IGGY, NSQ, Row, frames

from wireproof_kit.fuzz.case import (
    GRAMMAR,
    HALF_CLOSE,
    WHOLE,
    ByteByByte,
    Field,
    Frame,
    Slow,
    SplitAt,
)
from wireproof_kit.fuzz.generate import field_map, mutations
from wireproof_kit.fuzz.generate.edits import FieldIndex
from wireproof_kit.fuzz.generate.mutations import KEPT, FieldMutation, choices, mutate
from wireproof_kit.fuzz.generate.random_source import RandomSource
from wireproof_kit.fuzz.generate.traps import http_traps, json_traps, text_traps
from wireproof_kit.fuzz.generate.traps.text_traps import Trap
from wireproof_spec.nsq.publish import MPUB_BODY, MpubBody, PubBody

BATCH = field_map.frame("MPUB", MPUB_BODY, MpubBody((PubBody(b"one"), PubBody(b"second"))))


def number(data: bytes, field: Field) -> int:
    return int(data) if field.order is None else int.from_bytes(data, field.order)


def written(value: int, field: Field) -> bytes:
    if field.order is None:
        return str(value).encode()
    width = field.end - field.start
    return (value % (1 << 8 * width)).to_bytes(width, field.order)


def around(frame: Frame, entry: FieldMutation, growth: int) -> tuple[bytes, bytes]:
    """Return what must stand before and behind the bytes of a changed field."""
    field, follows = entry.field, entry.mutation.lengths == "follow"
    before = b""
    for each in frame.fields:
        data = frame.data[each.start : each.end]
        if each.end > field.start:
            break
        if each.path == field.path and each.start == field.start:
            break  # an empty field that is itself the one
        if follows and each.path in field.measured_by:
            more = growth if each.role == "length" else entry.mutation.items
            data = written(number(data, each) + more, each) if more else data
        before += data
    return before, frame.data[field.end :]


def changed_bytes(frame: Frame, entry: FieldMutation, data: bytes) -> bytes:
    """Return what stands where the field stood; fail if anything else is different."""
    size = entry.field.end - entry.field.start
    for growth in range(len(data) - len(frame.data) - 4, len(data) - len(frame.data) + 5):
        before, behind = around(frame, entry, growth)
        if len(before) + size + growth + len(behind) != len(data):
            continue
        if data.startswith(before) and data.endswith(behind):
            return data[len(before) : len(data) - len(behind)]
    raise AssertionError(f"{entry}: {data!r} differs elsewhere from {frame.data!r}")


def check(frame: Frame, entry: FieldMutation, data: bytes) -> None:
    field, name = entry.field, entry.mutation.name
    right = frame.data[field.start : field.end]
    if mark := entry.mutation.mark:
        check_mark(frame, entry, data, mark)
    elif entry.mutation.change is None:
        assert data == frame.data
    elif name.startswith("cut"):
        assert data == frame.data[: len(data)]
        inside = name.startswith("cut inside")
        assert field.start < len(data) < field.end if inside else len(data) == field.start
    elif name.startswith("the frame ends"):
        check_end(frame, entry, data)
    elif name == "swapped with the next":
        behind = [
            each for each in frame.fields if each.start >= field.end and each.end > each.start
        ]
        first = frame.data[behind[0].start : behind[0].end]
        before, end = frame.data[: field.start], frame.data[behind[0].end :]
        assert data == before + first + right + end
    else:
        wrong = changed_bytes(frame, entry, data)
        assert wrong != right
        if name.startswith("doubled"):
            assert wrong == right * 2
        if name.startswith("dropped"):
            assert wrong == b""


def check_mark(frame: Frame, entry: FieldMutation, data: bytes, mark: bytes) -> None:
    """One byte of the field is the mark; nothing else is different, up to where the frame ends."""
    field = entry.field
    wrong = [at for at, byte in enumerate(data) if byte != frame.data[at]]
    assert all(field.start <= at < field.end and data[at : at + 1] == mark for at in wrong)
    assert len(wrong) <= 1
    if entry.mutation.name.endswith("then closed"):
        assert data.endswith(mark)
        assert field.start < len(data) < field.end
    else:
        assert len(data) == len(frame.data)


def check_end(frame: Frame, entry: FieldMutation, data: bytes) -> None:
    """A frame cut short is what it was up to there, but for lengths that reached further."""
    at = 0
    for field in frame.fields:
        was = frame.data[field.start : field.end]
        if field.role == "length" and field.covers and field.end <= len(data) < field.covers[1]:
            reach = number(data[at : at + len(written(0, field))], field)
            if field.order is not None:
                assert reach == max(len(data) - field.covers[0], 0), field.path
            was = data[at : at + len(was)]
        if field.order is None and field.role == "length":
            return  # digits may be fewer: what is behind stands elsewhere
        assert data[at : at + len(was)] == was[: max(len(data) - at, 0)], field.path
        at += len(was)


@pytest.mark.slow
@EACH_KIND
def test_every_mutation_changes_its_field_and_nothing_else(row: Row) -> None:
    protocol, kind = row
    grammar = GRAMMARS[protocol]
    for which, frame in enumerate(frames(kind)[:3]):
        prepared = FieldIndex(frame)
        for index, entry in enumerate(choices(prepared, grammar.limits, grammar.traps)):
            found = mutate(prepared, entry, RandomSource(which, index))
            if found is None:
                continue
            try:
                check(frame, entry, found.data)
            except AssertionError as error:
                raise AssertionError(f"{entry.row}: {entry.mutation.name}") from error


@EACH_KIND
def test_every_mutation_has_a_name_of_its_own(row: Row) -> None:
    protocol, kind = row
    grammar = GRAMMARS[protocol]
    for frame in frames(kind)[:2]:
        entries = choices(FieldIndex(frame), grammar.limits, grammar.traps)
        named = [(each.field.path, each.field.start, each.mutation.name) for each in entries]
        assert len(named) == len(set(named))


def apply(name: str, path: str, frame: Frame = BATCH, index: int = 0) -> bytes | None:
    prepared = FieldIndex(frame)
    (entry,) = [
        each
        for each in choices(prepared, NSQ.limits, NSQ.traps)
        if each.field.path == path and each.mutation.name == name
    ]
    found = mutate(prepared, entry, RandomSource(1, index))
    return None if found is None else found.data


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("zero", 0),
        ("one", 1),
        ("one less", 20),
        ("one more", 22),
        ("all ones (-1)", 0xFFFFFFFF),
        ("all ones but one (-2)", 0xFFFFFFFE),
        ("largest signed", 0x7FFFFFFF),
        ("smallest signed", 0x80000000),
        ("negated", 0xFFFFFFEB),
        ("twice as much", 42),
        ("2**8 more", 277),
        ("2**16 more", 65557),
        ("2**24 more", 16777237),
        ("a quarter of all", 0x40000000),
        ("other byte order", 0x15000000),
        ("one beyond the end of the frame", 22),
        ("far beyond the end of the frame", 70021),
    ],
)
def test_numbers(name: str, found: int) -> None:
    data = apply(name, "size")

    assert data == found.to_bytes(4, "big") + BATCH.data[4:]


@pytest.mark.parametrize("name", ["2**32 more", "to the end of the frame"])
def test_a_number_that_would_be_the_same_is_passed_over(name: str) -> None:
    assert apply(name, "size") is None


def test_a_length_reaches_to_the_end_over_what_is_not_its_own() -> None:
    data = apply("to the end of the frame", "messages[0].size")

    assert data is not None
    assert data[8:12] == (13).to_bytes(4, "big")


def test_lengths_follow_a_field_or_are_kept() -> None:
    follow = apply("empty", "messages[0].body")
    kept = apply("empty" + KEPT, "messages[0].body")

    assert follow == bytes.fromhex("00000012 00000002 00000000 00000006") + b"second"
    assert kept == bytes.fromhex("00000015 00000002 00000003 00000006") + b"second"


def test_counts_follow_items_or_are_kept() -> None:
    more = apply("doubled", "messages[0]")
    less = apply("dropped", "messages[1]")
    lying = apply("dropped" + KEPT, "messages[1]")

    assert (
        more
        == bytes.fromhex("0000001c 00000003 00000003")
        + b"one"
        + bytes.fromhex("00000003")
        + b"one"
        + bytes.fromhex("00000006")
        + b"second"
    )
    assert less == bytes.fromhex("0000000b 00000001 00000003") + b"one"
    assert lying == bytes.fromhex("00000015 00000002 00000003") + b"one"


def test_a_frame_ends_within_a_field_with_lengths_that_are_true() -> None:
    data = apply("the frame ends inside it", "messages[1].body")

    assert data is not None
    left = len(data) - 19
    assert 0 < left < 6
    assert data[:4] == (len(data) - 4).to_bytes(4, "big")
    assert data[15:] == left.to_bytes(4, "big") + b"second"[:left]


def test_each_way_of_sending() -> None:
    prepared = FieldIndex(BATCH)
    made = {
        each.mutation.name: mutate(prepared, each, RandomSource(3, 0))
        for each in choices(prepared, {})
        if each.field.path in ("frame", "messages[1].body")
    }
    styles = {name: found.style for name, found in made.items() if found is not None}

    assert styles[GRAMMAR] is WHOLE
    assert styles["then closed"] is HALF_CLOSE
    assert styles["cut before it, then closed"] is HALF_CLOSE
    assert isinstance(styles["byte by byte"], ByteByByte)
    assert isinstance(styles["slowly"], Slow)
    assert styles["two writes, cut before it"] == SplitAt((19,))
    inside = styles["two writes, cut inside it"]
    assert isinstance(inside, SplitAt)
    assert all(19 < at < 25 for at in inside.offsets)


TRAPS: dict[str, Trap] = {
    **text_traps.CHANGES,
    **text_traps.SIZES,
    **text_traps.LARGE_SIZES,
    **text_traps.BODIES,
    **text_traps.WORDS,
    **text_traps.DIGITS,
    **json_traps.JSON,
    **http_traps.METHODS,
    **http_traps.VERSIONS,
    **http_traps.ENDS,
    **http_traps.ESCAPES,
    **{
        f"{protocol} {where}: {name}": trap
        for protocol, grammar in GRAMMARS.items()
        for where, own in grammar.traps.items()
        for name, trap in own.items()
    },
}
TEXTS = [
    b"",
    b"x",
    b"word",
    b"12",
    b"\xff\0",
    b"{}",
    b'{"a":"b","n":1}',
    b'{"a":{"b":[1]}}',
    b"[]",
]


@check_each(TRAPS)
def test_a_trap_makes_bytes_of_anything_and_changes_something(name: str) -> None:
    made = [TRAPS[name](text, RandomSource(5, index)) for index, text in enumerate(TEXTS)]

    assert all(isinstance(each, bytes) for each in made)
    assert any(each != text for each, text in zip(made, TEXTS, strict=True))


@pytest.mark.parametrize("name", [*text_traps.SIZES, *text_traps.LARGE_SIZES])
def test_sizes_are_what_they_say(name: str) -> None:
    assert len(TRAPS[name](b"abc", RandomSource(5, 0))) == int(name.partition(" ")[0])


def test_traps_of_json_are_where_the_names_say() -> None:
    text = b'{"a":"b","n":1}'
    made = {name: trap(text, RandomSource(5, 0)) for name, trap in json_traps.JSON.items()}

    assert made["JSON: a name twice"].count(b'"a"') + made["JSON: a name twice"].count(b'"n"') == 3
    assert made["JSON: 300 deep"].count(b"[") == 300
    assert made["JSON: a name less"] in (b'{"a":"b"}', b'{"n":1}')
    assert b"\\ud800" in made["JSON: a lone surrogate"]
    assert made["JSON: trailing comma"] == b'{"a":"b","n":1,}'
    assert made["JSON: another number"].startswith(b'{"a":"b","n":')


@pytest.mark.parametrize("text", [b"{}", b"no", b'{"a":"b"}', b'{"a":"' + b"b" * 300 + b'"}'])
@pytest.mark.parametrize("size", [8, 255, 65534])
def test_json_of_a_size_is_json_of_that_size(text: bytes, size: int) -> None:
    made = json_traps.make_size_trap(size)(text, RandomSource(1, 0))

    assert len(made) == size
    assert isinstance(json.loads(made), dict)


def test_a_field_is_made_as_long_as_its_own_length_tells() -> None:
    (kind,) = [each for each in NSQ.kinds if each.name == "PUB_EXT"]
    frame = frames(kind)[0]
    line = frame.data.partition(b"\n")[0] + b"\n"
    for less, words in enumerate(("", ", less one", ", less two")):
        data = apply(f"as long as its length tells{words}", "json_header", frame)
        assert data is not None
        size, length = data[len(line) : len(line) + 4], data[len(line) + 4 : len(line) + 6]
        assert int.from_bytes(length, "big") == 65535 - less
        assert int.from_bytes(size, "big") == len(data) - len(line) - 4


def test_every_role_has_mutations_of_its_own() -> None:
    names = {role: {each.name for each in table} for role, table in mutations.BY_ROLE.items()}

    assert "JSON: 300 deep" in names["json"]
    assert "one more" in names["length"] & names["count"] & names["number"] & names["enumerator"]
    assert "65535 bytes" in names["body"] & names["json"]
    assert "a NUL in it" in names["text"] & names["fixed"] & names["line"]


def test_a_length_in_digits_is_made_wrong_as_a_number_and_as_text() -> None:
    (post,) = [kind for kind in NSQ.kinds if kind.name == "POST /mpub"]
    frame = next(
        each for each in frames(post) if any("content-length" in f.path for f in each.fields)
    )

    names = {
        entry.mutation.name
        for entry in choices(FieldIndex(frame), {})
        if entry.row == "headers.content-length[].value"
    }

    assert {"one more", "zero", "minus", "hexadecimal", "2**64"} <= names


def test_what_matters_to_a_field_is_among_its_numbers() -> None:
    (send,) = [kind for kind in IGGY.kinds if kind.name == "send_messages"]
    rows = {
        entry.row
        for entry in choices(FieldIndex(frames(send)[0]), IGGY.limits)
        if entry.mutation.name == "about a limit"
    }

    assert "messages[].length" in rows
