import pytest

from wireproof_spec.nsq.acknowledge import Finish, Requeue, Touch
from wireproof_spec.nsq.command import CommandLine
from wireproof_spec.nsq.command_faults import command_faults
from wireproof_spec.nsq.command_reader import Body, Command, CommandReader, Line
from wireproof_spec.nsq.identify import IdentifyBody
from wireproof_spec.nsq.publish import PubBody
from wireproof_spec.stream import NEED_MORE
from wireproof_spec.wire_error import WireError

ID = bytes(range(16))  # with a line feed, a space and a carriage return in it


def reader(data: bytes, *, line_limit: int = 100) -> CommandReader:
    commands = CommandReader(line_limit=line_limit, message_limit=10, body_limit=20)
    commands.feed(data)
    return commands


def read(data: bytes) -> list[tuple[Line, Body | None]]:
    commands, found = reader(data), []
    while (command := commands.next_command()) is not NEED_MORE:
        found.append((command.line.value, command.body.value if command.body else None))
    commands.finish()
    return found


def test_several_commands_in_one_write() -> None:
    data = (
        b"IDENTIFY\n\x00\x00\x00\x02{}"
        b"SUB t c\n"
        b"FIN " + ID + b"\nREQ " + ID + b" 50\nTOUCH " + ID + b"\n"
        b"PUB t\r\n\x00\x00\x00\x03a\nbNOP\n"
    )

    assert read(data) == [
        (CommandLine(b"IDENTIFY", ()), IdentifyBody(b"{}")),
        (CommandLine(b"SUB", (b"t", b"c")), None),
        (Finish(ID), None),
        (Requeue(ID, 50), None),
        (Touch(ID), None),
        (CommandLine(b"PUB", (b"t",), carriage_return=True), PubBody(b"a\nb")),
        (CommandLine(b"NOP", ()), None),
    ]


@pytest.mark.parametrize("line", [b"FINX\n", b"FINISH\n", b"REQUEST a\n", b"TOUCHE\n"])
def test_words_that_only_begin_like_an_acknowledgement(line: bytes) -> None:
    ((value, _),) = read(line)

    assert isinstance(value, CommandLine)


REFUSED = [
    (b"NOP\nFIN\n", "space", 7),
    (b"FIN\r\n", "space", 3),
    (b"FIN " + ID + b"x\n", "line_feed", 20),
    (b"REQ " + ID + b" \n", "timeout_ms", 21),
    (b"REQ " + ID + b" 1\r\n", "line_feed", 22),
    (b"PUB t\n\xff\xff\xff\xff", "size", 6),
    (b"PUB t\n\x00\x00\x00\x0b", "size", 6),
    (b"IDENTIFY\n\x00\x00\x00\x15", "size", 9),
    (b"a" * 100, "line", 0),
    (b"NOP\n" + b"a" * 100 + b"\n", "line", 4),
]


@pytest.mark.parametrize(("data", "field", "offset"), REFUSED)
def test_a_broken_command_is_refused_at_its_place(data: bytes, field: str, offset: int) -> None:
    with pytest.raises(WireError) as caught:
        read(data)

    assert (caught.value.field, caught.value.offset) == (field, offset)


def test_the_longest_line_is_read() -> None:
    assert read(b"a" * 99 + b"\n") == [(CommandLine(b"a" * 99, ()), None)]


CUT = [
    (b"NO", "line_feed", 2),
    (b"NOP\nFIN 123", "message_id", 8),
    (b"TOUCH " + ID, "line_feed", 22),
    (b"PUB t\n", "size", 6),
    (b"PUB t\n\x00\x00", "size", 6),
    (b"PUB t\n\x00\x00\x00\x03a", "body", 10),
]


@pytest.mark.parametrize(("data", "field", "offset"), CUT)
def test_an_end_within_a_command_is_refused(data: bytes, field: str, offset: int) -> None:
    commands = reader(data)
    while commands.next_command() is not NEED_MORE:
        pass
    assert commands.pending != b""
    with pytest.raises(WireError) as caught:
        commands.finish()

    assert (caught.value.field, caught.value.offset) == (field, offset)


def command(data: bytes) -> Command:
    found = reader(data, line_limit=5000).next_command()
    assert found is not NEED_MORE
    return found


FAULTS: list[tuple[bytes, list[tuple[str, int]]]] = [
    (b"NOP a b\n", []),
    (b"SUB t c 0 junk\n", []),
    (b"SUB_ORDER t c 0\n", []),
    (b"nop\n", [("name", 0)]),
    (b"SUB t\n", [("channel_name", 5)]),
    (b"SUB\n", [("topic_name", 3)]),
    (b"SUB a! b! x\n", [("topic_name", 4), ("channel_name", 7), ("topic_partition", 10)]),
    (b"SUB_ADVANCED t c 0 special:-1\n", []),
    (b"SUB_ADVANCED t c 0 first\n", [("consume_offset", 19)]),
    (b"RDY\n", []),
    (b"RDY \n", []),
    (b"RDY -1\n", [("count", 4)]),
    (b"INTERNAL_CREATE_TOPIC t 0 true\n", []),
    (b"INTERNAL_CREATE_TOPIC t -1 yes\n", [("topic_partition", 24), ("extend", 27)]),
    (b"PUB t " + b"9" * 4000 + b"\n\x00\x00\x00\x00", [("topic_partition", 6)]),
    (b"AUTH x\n\x00\x00\x00\x01s", [("parameters", 4)]),
    (b"IDENTIFY\n\x00\x00\x00\x02{}", []),
    (b"IDENTIFY\n\x00\x00\x00\x00", [("json", 13)]),
    (b"PUB_EXT t\n\x00\x00\x00\x02\x00\x00", [("json_header", 16)]),
    (b'PUB_EXT t\n\x00\x00\x00\x09\x00\x07{"a":1}', [("json_header/a", 16)]),
    (b"MPUB_EXT t\n\x00\x00\x00\x0a\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00", []),
    (b"FIN " + ID + b"\n", []),
]


@pytest.mark.parametrize(("data", "faults"), FAULTS)
def test_words_and_json_are_judged_apart_from_the_shape(
    data: bytes, faults: list[tuple[str, int]]
) -> None:
    found = command_faults(command(data))

    assert [(fault.field, fault.offset) for fault in found] == faults
