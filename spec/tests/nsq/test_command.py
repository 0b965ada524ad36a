import pytest

from wireproof_spec.decoding import decode, spans
from wireproof_spec.nsq import names
from wireproof_spec.nsq.command import COMMAND_LINE, CommandLine, command_line
from wireproof_spec.wire_error import WireError


def test_words_may_be_text_numbers_or_bytes() -> None:
    assert command_line(names.SUB, "topic", b"channel", 7) == b"SUB topic channel 7\n"
    assert command_line(names.NOP) == b"NOP\n"
    assert command_line(names.PUB, "t", -1) == b"PUB t -1\n"


@pytest.mark.parametrize("word", ["a b", "a\nb", "\n", " ", "a\r"])
def test_a_word_that_would_be_read_otherwise_is_refused(word: str) -> None:
    with pytest.raises(WireError):
        command_line(names.PUB, word)


def test_a_carriage_return_belongs_to_the_end_of_the_line() -> None:
    assert decode(COMMAND_LINE, b"PUB t\r\n") == CommandLine(b"PUB", (b"t",), True)


def test_spans_name_the_words() -> None:
    fields = [span.field for span in spans(COMMAND_LINE, b"SUB t c\r\n")]

    assert fields == [
        "name",
        "parameters.separator",
        "parameters[0]",
        "parameters.separator",
        "parameters[1]",
        "carriage_return",
        "line_feed",
    ]
