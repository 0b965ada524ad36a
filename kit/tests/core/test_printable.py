import pytest

from wireproof_kit.decoding.printable import LONGEST, clip, pad, printable, width, wrap_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 中", "plain é 中"),
        ("\x1b[2J", "\\x1b[2J"),
        ("a\nb\t", "a\\nb\\t"),
        ("\ud800", "\\ud800"),
        ("\u202e", "\\u202e"),
    ],
)
def test_what_does_not_print_is_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_endless_text_is_cut_before_it_costs_anything() -> None:
    assert len(printable("\x00" * 10_000_000)) <= 4 * LONGEST + 1


@pytest.mark.parametrize(("text", "columns"), [("abc", 3), ("中", 2), ("e\u0301", 1), ("", 0)])
def test_width_counts_columns(text: str, columns: int) -> None:
    assert width(text) == columns


def test_clipping_leaves_out_the_middle() -> None:
    assert clip("abcdefghij", 7) == "abcd…ij"
    assert clip("abcdefghij", 10) == "abcdefghij"
    assert width(clip("中" * 50, 9)) <= 9


def test_wrapping_fills_rows_and_then_elides() -> None:
    assert wrap_text("abcdefgh", columns=4, rows=2) == ["abcd", "efgh"]
    assert wrap_text("abcdefghi", columns=4, rows=2) == ["abcd", "ef…i"]
    assert wrap_text("time = 12345 1970-01-01", columns=16, rows=2) == [
        "time = 12345",
        "1970-01-01",
    ]
    assert wrap_text("", columns=4, rows=2) == []


def test_padding_counts_columns_too() -> None:
    assert pad("中", 4) == "中  "
