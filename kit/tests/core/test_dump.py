from wireproof_kit.decoding.dump import Measure, dump_numbered, dump_parts
from wireproof_kit.decoding.printable import width
from wireproof_kit.wire.transcript import Part

LINE = b"PUB_EXT topic\n"
HEADER = b'{"a b":"1"}'
SENT = LINE + b"\x00\x00\x00\x0e" + b"\x00\x0b" + HEADER + b"x"
PARTS = (
    Part(0, 14, "command line"),
    Part(14, 4, "size = 14"),
    Part(18, 2, "header_length = 11"),
    Part(20, 11, HEADER.decode(), wrong=True),
)


def test_sent_bytes_stand_beside_their_meaning_and_the_wrong_part_is_marked() -> None:
    assert dump_parts("sent", SENT, PARTS) == [
        "  sent      50 55 42 5f 45 58 54 20 …   command line",
        "            00 00 00 0e                 size = 14",
        "            00 0b                       header_length = 11",
        '            7b 22 61 20 62 22 3a 22 …   {"a b":"1"}      <-- made wrong here',
        "            78                          x",
    ]


def test_the_mark_goes_below_a_long_label() -> None:
    part = Part(0, 1, "a label of thirty-one characters", wrong=True)

    assert dump_parts("sent", b"\x01", [part]) == [
        "  sent      01                          a label of thirty-one characters",
        "                                        <-- made wrong here",
    ]


def test_numbered_rows_carry_their_offset_from_the_base() -> None:
    lines = dump_numbered(SENT[14:], [Part(0, 4, "size"), Part(6, 11, "header")], base=1014)

    assert lines == [
        "      1014  00 00 00 0e                 size",
        "      1018  00 0b                       ..",
        "      1020  7b 22 61 20 62 22 3a 22 …   header",
        "      1031  78                          x",
    ]


def test_a_long_part_loses_its_middle() -> None:
    lines = dump_numbered(bytes(100), [Part(0, 100, "body")], measure=Measure(rows=4))

    assert lines == [
        "         0  00 00 00 00 00 00 00 00     body",
        "         8  00 00 00 00 00 00 00 00",
        "            … 80 bytes left out",
        "        96  00 00 00 00",
    ]


def test_a_part_that_fits_its_rows_is_whole() -> None:
    lines = dump_numbered(bytes(24), [Part(0, 24, "body")], measure=Measure(rows=3))

    assert [line.split()[0] for line in lines] == ["0", "8", "16"]


def test_many_parts_lose_their_middle_but_never_the_wrong_one() -> None:
    parts = [Part(index, 1, f"part {index}", wrong=index == 50) for index in range(100)]

    lines = dump_parts("sent", bytes(100), parts, measure=Measure(parts=6))

    assert [line.strip() if "…" in line else line[40:] for line in lines] == [
        "part 0",
        "part 1",
        "part 2",
        "part 3",
        "… 46 parts, 46 bytes left out",
        "part 50          <-- made wrong here",
        "… 47 parts, 47 bytes left out",
        "part 98",
        "part 99",
    ]


def test_an_empty_part_still_has_its_line() -> None:
    assert dump_numbered(b"\x07", [Part(0, 1, "size"), Part(1, 0, "body = (empty)")]) == [
        "         0  07                          size",
        "         1                              body = (empty)",
    ]


def test_a_part_beyond_cut_data_shows_the_bytes_there_are() -> None:
    assert dump_numbered(b"\x00\x01", [Part(0, 4, "size"), Part(4, 2, "header_length")]) == [
        "         0  00 01                       size",
        "         4                              header_length",
    ]


def test_nothing_at_all_has_a_title() -> None:
    assert dump_parts("sent", b"") == ["  sent"]


def test_no_control_sequence_passes_and_no_line_is_longer_than_the_screen() -> None:
    label = "\x1b[31mred\u202e" + "中é" * 300
    for wrong in (False, True):
        part = Part(0, 200, label, wrong=wrong)
        for rows in range(1, 9):
            lines = dump_parts("a title of any length", bytes(200), [part], measure=Measure(rows))
            lines += dump_numbered(bytes(200), [part], measure=Measure(rows))
            assert all(line.isprintable() for line in lines)
            assert max(map(width, lines)) <= 80
