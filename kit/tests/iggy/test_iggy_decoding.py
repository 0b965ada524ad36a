"""Bytes of Iggy with their meaning, on what was recorded from a real server."""

import io
import json
from pathlib import Path

import pytest
from check_each import check_each
from decode_command import Decode
from hypothesis import given
from hypothesis import strategies as st

from wireproof_kit.decoding.decoded import Broken, Decoded, Entry, Heading, JsonObject
from wireproof_kit.decoding.dump import dump_numbered
from wireproof_kit.decoding.json_text import json_line
from wireproof_kit.errors import UsageFault
from wireproof_kit.iggy.decoding.annotation import moment
from wireproof_kit.iggy.decoding.apache_parts import Side
from wireproof_kit.iggy.decoding.sources import (
    DecodeOptions,
    decode_bytes,
    decode_path,
    decode_pipe,
    recognise_side,
)
from wireproof_spec.decoding import encode
from wireproof_spec.iggy import commands, golden
from wireproof_spec.iggy.bodies.poll_messages import (
    POLLED_MESSAGES,
    POLLED_MESSAGES_TAGGED,
    PolledMessages,
    polled_messages_schema,
)
from wireproof_spec.iggy.bodies.users import LOGIN_USER, LoginUser
from wireproof_spec.iggy.checksum import payload_checksum
from wireproof_spec.iggy.frame import request, response
from wireproof_spec.iggy.generation import GENERATIONS, Generation
from wireproof_spec.iggy.golden import TcpScenario
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.message import MESSAGE, OLD_MESSAGE, Message
from wireproof_spec.iggy.segment import log_name

SCENARIOS = {scenario.name: scenario for scenario in golden.tcp()}
LOG = (golden.folder() / "iggy-disk" / log_name(0)).read_bytes()
MESSAGES: list[dict[str, object]] = json.loads(
    (golden.folder() / "iggy-disk" / "manifest.json").read_bytes()
)["messages"]
CHECKSUM = payload_checksum(b"x")
EACH = check_each(SCENARIOS.values(), lambda scenario: scenario.name)


def bytes_of(scenario: TcpScenario, direction: str, connection: str = "A") -> bytes:
    return b"".join(
        step.data
        for step in scenario.steps
        if (step.direction, step.connection) == (direction, connection)
    )


def entries(data: bytes, wanted: DecodeOptions | None = None) -> list[Entry]:
    return list(decode_bytes(data, wanted or DecodeOptions()))


def objects(found: list[Entry]) -> list[JsonObject]:
    return [fields for each in found if isinstance(each, Decoded) for fields in each.objects()]


def titles(found: list[Entry]) -> list[str]:
    return [each.title for each in found if isinstance(each, Decoded)]


def broken(found: list[Entry]) -> Broken:
    last = found[-1]
    assert isinstance(last, Broken)
    return last


def check_parts(found: list[Entry]) -> None:
    for entry in found:
        if isinstance(entry, Decoded | Broken):
            parts = entry.parts()
            assert sum(part.length for part in parts) == len(entry.data)
            assert dump_numbered(entry.data, parts, base=entry.offset)


@EACH
def test_what_a_server_sent_is_told_whole(scenario: TcpScenario) -> None:
    data = bytes_of(scenario, "s2c")
    if not data:
        return
    found = entries(data, DecodeOptions("server"))

    check_parts(found)
    assert [each for each in found if isinstance(each, Broken)] == []
    assert b"".join(each.data for each in found if isinstance(each, Decoded)) == data
    for fields in objects(found):
        assert json.loads(json_line(fields)) == fields


@EACH
def test_what_a_client_sent_is_told_up_to_what_breaks_its_shape(scenario: TcpScenario) -> None:
    data = bytes_of(scenario, "c2s")
    found = entries(data, DecodeOptions("client"))

    check_parts(found)
    whole = b"".join(each.data for each in found if isinstance(each, Decoded))
    assert data.startswith(whole)
    assert len(whole) == len(data) or isinstance(found[-1], Broken)
    for fields in objects(found):
        assert json.loads(json_line(fields)) == fields


def test_the_side_is_told_by_the_first_bytes() -> None:
    told: list[tuple[Side | None, Side]] = []
    for scenario in SCENARIOS.values():
        told.append((recognise_side(bytes_of(scenario, "c2s")[:64]), "client"))
        answered = bytes_of(scenario, "s2c")
        if answered:
            told.append((recognise_side(answered[:64]), "server"))
    told.append((recognise_side(LOG[:64]), "log"))

    wrong = [pair for pair in told if pair[0] is not None and pair[0] != pair[1]]
    assert wrong == []
    assert sum(found is None for found, _ in told) <= 4
    assert recognise_side(b"\x04\x00") is None


def test_a_log_is_told_message_by_message() -> None:
    found = entries(LOG)

    check_parts(found)
    assert [fields["position"] for fields in objects(found)] == [m["position"] for m in MESSAGES]
    assert [fields["id"] for fields in objects(found)] == [m["id"] for m in MESSAGES]
    assert all(fields["checksum_right"] for fields in objects(found))
    assert titles(found)[0] == (
        "offset 0   id 232071677777564499402827199894559175028   13 bytes   available"
    )


def test_the_parts_of_a_message_say_what_they_mean() -> None:
    (first, second, *_) = entries(LOG)
    assert isinstance(first, Decoded)
    assert isinstance(second, Decoded)
    labels = [part.label for part in (*first.parts(), *second.parts())]

    assert labels[:5] == [
        "offset = 0",
        "state = 1 (available)",
        "timestamp = 1795243060869313 2026-11-21T06:37:40.869313Z",
        "id = 232071677777564499402827199894559175028",
        "checksum = 2144931076",
    ]
    assert "headers[1].kind = 12 (uint64)" in labels
    assert 'payload = "orders_data_3"' in labels


def test_a_state_and_a_checksum_that_are_wrong_are_told() -> None:
    message = Message(3, 7, 1_700_000_000_000_000, 5, 1, (), b"x")
    (title,) = titles(entries(encode(MESSAGE, message), DecodeOptions("log")))

    assert title == (
        "offset 3   id 5   1 byte   unknown state 7   wrong checksum, 2363233923 is due"
    )


def test_a_wrong_checksum_is_marked_where_it_stands_with_the_right_one() -> None:
    right, wrong = Message(0, 1, 1, 5, CHECKSUM, (), b"x"), Message(1, 1, 1, 6, 7, (), b"x")
    polled = encode(POLLED_MESSAGES, PolledMessages(None, None, (right, wrong)))

    (stored,) = entries(encode(MESSAGE, wrong), DecodeOptions("log"))
    (answer,) = entries(response(0, polled), DecodeOptions("server"))

    assert isinstance(stored, Decoded)
    assert isinstance(answer, Decoded)
    marked = f"checksum = 7, WRONG: {CHECKSUM} is right"
    assert marked in [part.label for part in stored.parts()]
    labels = [part.label for part in answer.parts() if "checksum" in part.label]
    assert labels == [f"messages[0].checksum = {CHECKSUM}", f"messages[1].{marked}"]
    assert answer.title == "0 ok   2 messages   1 wrong checksum"


@pytest.mark.parametrize("generation", GENERATIONS)
def test_an_unknown_kind_of_header_in_a_poll_leaves_the_messages_before_it(
    generation: Generation,
) -> None:
    message = Message(0, 1, 1_700_000_000_000_000, 5, CHECKSUM, (Header("k", 2, b"v"),), b"x")
    partition, offset = (1, 0) if generation == "tagged" else (None, None)
    polled = PolledMessages(partition, offset, (message,) * 3)
    body = bytearray(encode(polled_messages_schema(generation), polled))
    body[body.rindex(b"\x01\0\0\0k\x02") + 5] = 99

    found = entries(response(0, bytes(body)) + response(0), DecodeOptions("server", generation))

    fault = broken(found)
    assert fault.error.field == "messages[2].headers[0].kind"
    assert "expected 1 to 15, found 99" in fault.sentence
    assert [fields["kind"] for fields in fault.objects()] == ["message"] * 2
    assert any(part.label.startswith("messages[1].payload") for part in fault.parts())
    check_parts(found)


def test_a_layout_of_another_generation_names_the_option(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    decode = Decode(capsys)
    login = request(commands.LOGIN_USER, encode(LOGIN_USER, LoginUser("a", "b", "", "")))
    old = b"".join(encode(OLD_MESSAGE, Message(n, None, 9, 5, None, (), b"x")) for n in range(3))
    log = tmp_path / log_name(0)
    log.write_bytes(old)

    decode("--protocol", "iggy", (request(commands.PING) + login).hex(), code=2)
    assert decode.error.endswith("; --generation tagged decodes this\n")
    decode("--protocol", "iggy", log, code=2)
    assert decode.error.endswith("; --old-layout decodes this\n")
    message = Message(0, 1, 1_700_000_000_000_000, 5, 1, (Header("k", 2, b"v"),), b"x")
    tagged = encode(POLLED_MESSAGES_TAGGED, PolledMessages(1, 0, (message,)))
    decode("--protocol", "iggy", response(0, tagged).hex(), code=2)
    assert decode.error.endswith("; --generation tagged decodes this\n")
    published = bytearray(encode(POLLED_MESSAGES, PolledMessages(None, None, (message,))))
    published[published.index(b"k\x02") + 1] = 99
    decode("--protocol", "iggy", response(0, bytes(published)).hex(), code=2)
    assert "expected 1 to 15, found 99" in decode.error
    assert "decodes this" not in decode.error
    decode("--protocol", "iggy", request(999).hex(), "--side", "client", code=2)
    assert "decodes this" not in decode.error


def test_a_log_of_before_is_told_when_it_is_said_to_be_one() -> None:
    message = Message(3, None, 9, 5, None, (), b"x")
    (fields,) = objects(
        entries(encode(OLD_MESSAGE, message), DecodeOptions("log", old_layout=True))
    )

    assert (fields["state"], fields["checksum"], fields["checksum_right"]) == (None, None, None)


@pytest.mark.parametrize("cut", [1, 20, 44, 57])
def test_a_log_that_is_cut_ends_with_its_fault(cut: int) -> None:
    found = entries(LOG[: 58 + cut], DecodeOptions("log"))

    assert len(found) == 2
    assert broken(found).offset == 58
    assert broken(found).error.offset <= 58 + cut
    check_parts(found)


def test_a_request_that_breaks_its_shape_is_told_with_its_place() -> None:
    data = bytes_of(SCENARIOS["header-invalid-kind-16"], "c2s")
    found = entries(data)
    fault = broken(found)

    assert titles(found) == ["create_stream", "create_topic"]
    assert fault.error.field == "messages[0].headers[0].kind"
    assert data[fault.error.offset] == 16
    assert fault.parts()[-1].label == "messages[0].headers[0].kind: expected 1 to 15, found 16"
    assert "(iggy.send.layout)" in fault.sentence


def test_a_command_that_none_is_is_told() -> None:
    fault = broken(entries(request(999), DecodeOptions("client")))

    assert (fault.error.field, fault.error.offset) == ("code", 4)
    assert "expected a command of the published generation, found 999" in fault.sentence


def test_what_was_sent_and_polled() -> None:
    scenario = SCENARIOS["send-one-poll-one"]
    sent = objects(entries(bytes_of(scenario, "c2s")))
    received = entries(bytes_of(scenario, "s2c"))

    (command,) = (fields for fields in sent if fields["command"] == "send_messages")
    assert command["stream"] == 112
    assert command["messages"] == [{"id": 77, "headers": [], "payload": b"hello".hex()}]
    assert "0 ok   1 message" in titles(received)
    (message,) = (fields for fields in objects(received) if fields["kind"] == "message")
    assert (message["state"], message["checksum"]) == ("available", 907060870)


def test_an_error_bears_its_name() -> None:
    assert titles(entries(response(1009))) == ["1009 stream_id_not_found   no body"]
    assert titles(entries(response(9999), DecodeOptions("server"))) == [
        "9999 unknown status   no body"
    ]


def test_tagged_servers_have_polls_and_commands_of_their_own() -> None:
    tagged = DecodeOptions(generation="tagged")
    message = Message(0, 1, 1_700_000_000_000_000, 5, 1, (), b"x")
    body = encode(POLLED_MESSAGES_TAGGED, PolledMessages(1, 0, (message,)))
    login = request(commands.LOGIN_USER, encode(LOGIN_USER, LoginUser("a", "b", "", "")))

    assert titles(entries(response(0, body), tagged)) == ["0 ok   1 message   1 wrong checksum"]
    assert "found messages of the tagged generation" in broken(entries(response(0, body))).sentence
    assert titles(entries(login, tagged)) == ["login_user"]
    assert broken(entries(login)).error.field == "code"


def test_a_directory_shows_all_its_logs(tmp_path: Path) -> None:
    place = tmp_path / "streams" / "1"
    place.mkdir(parents=True)
    (place / log_name(0)).write_bytes(LOG[:58])
    (place / log_name(1)).write_bytes(LOG[58:173])
    (place / "other.log").write_bytes(b"not one of ours")
    found = list(decode_path(tmp_path, DecodeOptions()))

    assert [each.text for each in found if isinstance(each, Heading)] == [
        f"streams/1/{log_name(0)}",
        f"streams/1/{log_name(1)}",
    ]
    assert [fields["offset"] for fields in objects(found)] == [0, 1]
    (place / log_name(0)).write_bytes(LOG[:50])
    assert broken(list(decode_path(tmp_path, DecodeOptions()))).where == f"streams/1/{log_name(0)}"


def test_a_log_is_known_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / log_name(0)
    path.write_bytes(encode(MESSAGE, Message(0, 1, 9, 5, 1, (), b"x")))

    assert len(objects(list(decode_path(path, DecodeOptions())))) == 1


def test_nothing_to_decode_is_told_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageFault, match="is empty"):
        entries(b"")
    with pytest.raises(UsageFault, match="--side client, server or log"):
        entries(b"\xff" * 40)
    with pytest.raises(UsageFault, match="no log of a segment in it"):
        list(decode_path(tmp_path, DecodeOptions()))


@given(data=st.binary(min_size=1, max_size=120), side=st.sampled_from(["client", "server", "log"]))
def test_any_bytes_are_told_or_broken(data: bytes, side: Side) -> None:
    found = entries(data, DecodeOptions(side))

    check_parts(found)
    assert sum(len(each.data) for each in found if isinstance(each, Decoded | Broken)) == len(data)


def test_a_pipe_is_read_in_pieces() -> None:
    class Dripping(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            return super().read(min(size or 1, 5))

    found = list(decode_pipe(Dripping(LOG), DecodeOptions("log")))
    assert len(objects(found)) == len(MESSAGES)


def test_a_time_that_no_calendar_has_is_left_out() -> None:
    assert moment(0) == "1970-01-01T00:00:00.000000Z"
    assert moment(2**64 - 1) == ""


def test_the_command_line_decodes_iggy(capsys: pytest.CaptureFixture[str]) -> None:
    decode = Decode(capsys)

    assert decode("--protocol", "iggy", "0400000001000000").startswith("request   ping")
    assert "--generation" in decode("--help", "--protocol", "iggy")
    assert "login_user" in decode(
        *("--protocol", "iggy", "--generation", "tagged"),
        "10000000 26000000 01610162 00000000 00000000",
    )
    decode("--protocol", "iggy", "04000000e7030000", "--side", "client", code=2)
    assert "code at byte 4" in decode.error
