import pytest

from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire import frames
from wireproof_kit.wire.outgoing import Outgoing, join_pieces
from wireproof_kit.wire.transcript import Part

TOPIC = Topic("t", 0, extend=True, ordered=False, shared=False, address=("127.0.0.1", 1))
PUB_EXT = frames.pub_ext(TOPIC, {"k": "v"}, b"body")


def labels(outgoing: Outgoing) -> list[str]:
    return [part.label for part in outgoing.parts]


def test_joining_moves_the_parts() -> None:
    whole = frames.magic() + frames.nop()

    assert whole.data == b"  V2NOP\n"
    assert [(part.offset, part.length) for part in whole.parts] == [(0, 4), (4, 4)]
    assert join_pieces([frames.magic(), frames.nop()], "both").what == "both"


def test_every_byte_of_a_frame_has_one_label() -> None:
    covered = [n for part in PUB_EXT.parts for n in range(part.offset, part.offset + part.length)]

    assert covered == list(range(len(PUB_EXT.data)))
    assert labels(PUB_EXT)[:3] == ["command line", "size = 15", "header_length = 9"]


@pytest.mark.parametrize("at", range(len(PUB_EXT.data) + 1))
def test_a_cut_is_a_prefix_whose_parts_lie_inside(at: int) -> None:
    cut = PUB_EXT.cut(at)

    assert cut.data == PUB_EXT.data[:at]
    assert all(part.offset + part.length <= at for part in cut.parts)


def test_a_cut_from_the_end_marks_the_part_it_goes_through() -> None:
    cut = PUB_EXT.cut(-1)

    assert cut.data == PUB_EXT.data[:-1]
    assert cut.parts[-1].wrong
    assert cut.parts[-1].label.endswith("(cut)")


def test_split_pieces_are_the_whole() -> None:
    pieces = PUB_EXT.split(1, 5, 12)

    assert len(pieces) == 4
    assert b"".join(piece.data for piece in pieces) == PUB_EXT.data
    assert not any(part.wrong for piece in pieces for part in piece.parts)


def test_replace_puts_other_bytes_and_moves_what_follows() -> None:
    longer = PUB_EXT.replace("header_length", b"\0\0\0")

    size = longer.part("size")
    assert longer.part("header_length") == Part(
        size.offset + 4, 3, "header_length = 00 00 00", wrong=True
    )
    assert longer.data.endswith(b"\0\0\0" + b'{"k":"v"}body')
    assert longer.part("body").offset == len(longer.data) - 4


def test_replacing_an_unknown_field_names_those_there_are() -> None:
    with pytest.raises(KeyError, match="header_length"):
        PUB_EXT.replace("colour", b"")


def test_what_ends_within_a_frame_is_cut() -> None:
    frame = frames.line("PUB", "t")
    pieces = frame.split(1, 3)
    assert [piece.is_cut for piece in pieces] == [True, True, False]
    assert frame.cut(-1).is_cut
    assert (frame + frame.cut(2)).is_cut
    assert not (frame.cut(2) + frame).is_cut
    assert not frame.cut(len(frame.data)).is_cut
