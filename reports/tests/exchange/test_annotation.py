from hypothesis import given
from hypothesis import strategies as st

from wireproof_reports.exchange.annotation import Part, label_parts, lines

NUMBERS = st.integers(min_value=0, max_value=200)
PARTS = st.builds(Part, NUMBERS, NUMBERS, st.just("part"))


@given(st.binary(max_size=150), st.lists(PARTS, max_size=8))
def test_every_byte_is_shown_once_in_order(data: bytes, parts: list[Part]) -> None:
    shown = lines(data, parts)

    covered = [byte for line in shown for byte in range(line.offset, line.offset + line.length)]
    assert covered == list(range(len(data)))


def test_recorded_labels_become_names_and_values() -> None:
    data = b"\0\0\0\x15{}"
    parts = label_parts([(0, 4, "size = 21", True), (4, 2, "json_header", False)])
    size, header = lines(data, parts)

    assert (size.label, size.value, size.wrong, size.head) == ("size", "21", True, "00 00 00 15")
    assert (header.label, header.value, header.wrong) == ("json_header", "{}", False)


def test_a_long_part_loses_its_middle() -> None:
    (line,) = lines(b"a" * 1000, [Part(0, 1000, "body")])

    assert len(line.head.split()) + line.omitted + len(line.tail.split()) == 1000
    assert len(line.value) < 200


def test_bytes_that_are_no_text_have_no_value() -> None:
    (line,) = lines(bytes(16), [Part(0, 16, "message id")])

    assert line.value == ""


def test_unnamed_bytes_are_kept() -> None:
    shown = lines(b"abcd", [Part(1, 2, "middle")])

    assert [(line.label, line.value) for line in shown] == [("", "a"), ("middle", "bc"), ("", "d")]
