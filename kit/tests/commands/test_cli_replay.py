"""Replaying: a recorded exchange again, compared field by field."""

import json
from pathlib import Path

import cli_bundle as made
import msgspec
import pytest
from cli_process import wireproof

from wireproof.main import main
from wireproof.nsq.replay import (
    is_beat,
    message_ids,
    message_key,
    own_steps,
    topic_names,
    with_ids,
)
from wireproof.replaying.find_case import locate
from wireproof.replaying.protocol_replay import replayer_of
from wireproof.replaying.rename import rename, rename_steps
from wireproof.replaying.resend import compare
from wireproof_kit.errors import UsageFault
from wireproof_reports.causes import fold
from wireproof_spec.step_record import StepRecord, TranscriptRecord

OK = bytes.fromhex("00000006000000004f4b")
REFUSED = bytes.fromhex("0000000b00000001") + b"E_BAD_B"
CASES = (
    *("nsq/publish/trace", "nsq/http/trace", "nsq/consume/several", "nsq/publish/header-json"),
    "nsq/publish/error-code/bad-topic",
)


def message(number: int, body: bytes = b"x", stamp: int = 1) -> bytes:
    identity = number.to_bytes(8, "big") + b"\0" * 8
    data = stamp.to_bytes(8, "big") + b"\0\1" + identity + body
    return (len(data) + 4).to_bytes(4, "big") + b"\0\0\0\2" + data


def step(kind: str, data: bytes = b"", note: str = "") -> StepRecord:
    return StepRecord(0, "A", kind, hex=data.hex(), length=len(data), note=note)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("replay")
    done = wireproof("run", "--reference", *CASES, "--bundle", "out/b.jsonl", cwd=place)
    assert done.code == 0, done.out + done.err
    return place


@pytest.mark.process
@pytest.mark.parametrize(
    "case",
    [
        "nsq/publish/trace/one",
        "nsq/http/trace/one",
        "nsq/consume/several",
        "nsq/publish/header-json/cut-word",
        "nsq/publish/error-code/bad-topic",  # takes a topic, and sends the name of none
    ],
)
def test_the_same_target_gives_the_same(folder: Path, case: str) -> None:
    done = wireproof("replay", case, "--to", "reference", "--times", "3", cwd=folder)

    assert done.code == 0, done.out + done.err
    assert done.out.splitlines()[-1] == "3 of 3 rounds as recorded"
    assert done.out.count("round ") == 3


@pytest.mark.process
def test_what_is_kept_is_sent_as_it_was(folder: Path) -> None:
    done = wireproof(
        *("replay", "nsq/publish/trace/one", "--to", "reference", "--as-recorded", "--json"),
        cwd=folder,
    )

    told = json.loads(done.out)
    _, case = locate("nsq/publish/trace/one", folder / "out/b.jsonl")
    sent = [s.hex for s in case.transcript.steps if s.kind == "send"]
    again = [s["hex"] for s in told["rounds"][0]["transcript"]["steps"] if s["kind"] == "send"]
    # The topic is not there any more, so the answer is another and the exchange ends there.
    assert done.code == 1
    assert again[: len(sent)] == sent[: len(again)]
    assert told["rounds"][0]["words"].startswith("different: connection A")


@pytest.mark.process
def test_a_different_answer_is_shown_beside_the_recorded_one(folder: Path) -> None:
    done = wireproof(
        "replay", "nsq/publish/trace/one", "--to", "reference", "--as-recorded", cwd=folder
    )

    assert done.code == 1
    assert "what was recorded:" in done.out
    assert done.out.splitlines()[-1] == "0 of 1 rounds as recorded"


@pytest.mark.process
def test_the_embedded_reference_has_ended(folder: Path) -> None:
    # The record names the reference; without --to it is started again.
    done = wireproof("replay", "nsq/publish/trace/one", "-q", cwd=folder)

    assert (done.code, done.out) == (0, "1 of 1 rounds as recorded\n")


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return made.write(tmp_path / "b.jsonl", made.failing())


def test_a_case_is_found_by_id_signature_and_file(bundle: Path) -> None:
    failed = next(record for record in made.read(bundle).cases if record.verdict == "fail")
    assert failed.signature is not None
    one = made.case(made.law(failed), failed.clause, made.ODD)
    alone = made.write(bundle.with_name("one.jsonl"), [one])

    assert locate(failed.case, bundle)[1] == failed
    assert locate(failed.signature, bundle)[1] == failed
    assert locate(failed.signature[:6], bundle)[1] == failed
    assert locate(str(alone), None)[1].case == failed.case


def test_a_signature_names_the_case_that_is_shown_first(bundle: Path) -> None:
    failed = next(record for record in made.read(bundle).cases if record.verdict == "fail")
    plain = made.case(made.law(failed), failed.clause, made.ODD)
    odd = msgspec.structs.replace(plain, case=f"{plain.case}/a/corner")
    path = made.write(bundle.with_name("two.jsonl"), [odd, plain])
    both = made.read(path).cases
    assert both[0].signature == both[1].signature is not None
    assert locate(str(both[0].signature), path)[1].case == fold(both)[0].shown.case == plain.case


def test_a_way_stands_for_the_first_case_that_showed_it(bundle: Path) -> None:
    shown = made.read(bundle).cases[1]
    way = made.add_way(bundle, "ext.consume.attempts", "attempts:other", [shown.case])

    assert locate(way, bundle)[1].case == shown.case


@pytest.mark.parametrize(
    ("observation", "sentence"),
    [
        ("conforms", "all 1 messages kept the clause"),
        ("attempts:other", "holds none of the cases"),
    ],
)
def test_a_way_without_a_case_gets_a_sentence(
    bundle: Path, observation: str, sentence: str
) -> None:
    way = made.add_way(bundle, "ext.consume.attempts", observation)

    with pytest.raises(UsageFault, match=sentence):
        locate(way, bundle)


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ("nsq/publish/nothing", "no case or signature 'nsq/publish/nothing'"),
        ("abc", "no case or signature 'abc'"),
        ("b.jsonl", "cases; name one: wireproof replay ID --bundle b.jsonl"),
    ],
)
def test_what_is_not_there_gets_a_sentence(bundle: Path, what: str, sentence: str) -> None:
    with pytest.raises(UsageFault) as caught:
        locate(what, bundle)

    assert sentence in str(caught.value)


def test_without_a_bundle_there_is_nothing_to_replay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(["replay", "abcdef"]) == 2
    assert "name one with --bundle FILE" in capsys.readouterr().err


def test_a_case_that_sent_nothing_cannot_be_repeated(tmp_path: Path) -> None:
    record = next(made.conforming())
    law = made.law(record)
    empty = made.case(law, record.clause, made.ODD, transcript=TranscriptRecord())
    path = made.write(tmp_path / "e.jsonl", [empty])

    with pytest.raises(UsageFault, match="nothing was sent"):
        locate(empty.case, path)


def test_a_hazard_is_sent_off_loopback_only_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    record = next(made.conforming())
    hazard = made.case(made.law(record), record.clause, made.ODD, hazard=True)
    made.write(tmp_path / "h.jsonl", [hazard])

    assert main(["replay", "h.jsonl", "--to", "nsq://192.0.2.1:4150"]) == 2
    assert "may kill nsq://192.0.2.1:4150; give --hazardous" in capsys.readouterr().err


def test_a_protocol_without_exchanges_cannot_be_replayed() -> None:
    with pytest.raises(UsageFault, match="recorded of protocol 'oms' cannot be sent again"):
        replayer_of("oms")


def test_equal_answers_are_as_recorded() -> None:
    steps = [step("send", b"x"), step("receive", OK)]

    assert compare(steps, steps, "nsq").words == "as recorded"


def test_ids_and_times_may_differ() -> None:
    before = [step("receive", message(1, stamp=5))]
    after = [step("receive", message(2, stamp=6))]

    compared = compare(before, after, "nsq")

    assert compared.same
    assert compared.words == "as recorded, but for timestamp_ns, internal_id"


def test_messages_may_come_in_another_order_and_around_answers() -> None:
    one, two = message(1, b"one"), message(2, b"two")
    before = [step("receive", frame) for frame in (OK, one, two)]
    after = [step("receive", frame) for frame in (two, OK, one)]

    assert compare(before, after, "nsq").same


@pytest.mark.parametrize(
    ("after", "words"),
    [
        ([step("receive", REFUSED)], "different: connection A, answer 1: the frame's make-up"),
        ([step("receive", message(1, b"y"))], "different: connection A, answer 1"),
        ([], "different: connection A: 0 answers, 1 recorded"),
        ([step("receive", OK)] * 2, "different: connection A: 2 answers, 1 recorded"),
        ([step("close", note="by the target (reset)")], "0 answers, 1 recorded"),
    ],
)
def test_other_answers_are_different(after: list[StepRecord], words: str) -> None:
    compared = compare([step("receive", OK)], after, "nsq")

    assert not compared.same
    assert words in compared.words


def test_an_answer_is_numbered_as_it_came() -> None:
    """Messages are sorted behind answers to be compared, and heartbeats left out."""
    beat = step("receive", bytes.fromhex("0000000f00000000") + b"_heartbeat_")
    one, other = (step("receive", message(1, body)) for body in (b"one", b"other"))
    before, after = [one, step("receive", OK)], [beat, other, step("receive", OK)]

    assert compare(before, after, "nsq").words.startswith(
        "different: connection A, answer 2, recorded as answer 1: "
    )


def test_http_answers_are_compared_by_status_and_members() -> None:
    def answer(status: str, body: str, date: str = "now") -> StepRecord:
        return step("response", f"HTTP/1.1 {status}\r\nDate: {date}\r\n\r\n{body}".encode())

    old = [answer("200 OK", '{"status":"OK","id":1,"queue_offset":0}')]

    assert compare(old, [answer("200 OK", '{"status":"OK","id":1,"queue_offset":0}', "x")], "nsq")
    moved = compare(old, [answer("200 OK", '{"status":"OK","id":2,"queue_offset":9}')], "nsq")
    other = compare(old, [answer("200 OK", '{"status":"NO","id":1,"queue_offset":0}')], "nsq")
    failed = compare(old, [answer("400 Bad", "no")], "nsq")
    assert moved.words == "as recorded, but for id, queue_offset"
    assert other.words == "different: connection A, answer 1: status"
    assert failed.words == "different: connection A, answer 1: status line, body"


def test_live_ids_take_the_place_of_recorded_ones() -> None:
    old, new = message_ids([message(1)])[0], message_ids([message(2)])[0]

    assert with_ids(b"FIN " + old + b"\n", {old: new}) == b"FIN " + new + b"\n"
    assert with_ids(b"REQ " + old + b" 100\n", {old: new}) == b"REQ " + new + b" 100\n"
    assert with_ids(b"PUB " + old, {old: new}) == b"PUB " + old
    assert with_ids(b"FIN " + new + b"\n", {old: new}) == b"FIN " + new + b"\n"


def test_topic_names_are_found_in_commands_and_requests() -> None:
    sent = [b"PUB_EXT wp_ab12_3 0\n", b"SUB wp_ab12_4 wp_channel_7\n", b"GET /x?topic=wp_ab12_3&"]

    assert topic_names(sent) == [b"wp_ab12_3", b"wp_ab12_4"]
    assert rename(sent[0], {b"wp_ab12_3": b"wp_z_1"}).data == b"PUB_EXT wp_z_1 0\n"


@pytest.mark.parametrize("new", [b"wp_z_1", b"wp_1234_5", b"wp_much_longer_12"])
def test_a_name_in_pieces_is_renamed_and_stays_in_pieces(new: bytes) -> None:
    old, whole = b"wp_ab12_3", b"PUB wp_ab12_3 0\nPUB wp_ab12_31 0\n"
    steps = [step("send", whole[at : at + 1]) for at in range(len(whole))]

    pieces = [bytes.fromhex(piece.hex) for piece in rename_steps(steps, {old: new})]

    assert b"".join(pieces) == whole.replace(old + b" ", new + b" ")
    assert len(pieces) == len(steps)


def test_labels_move_with_the_bytes_they_name() -> None:
    whole = b"PUB wp_ab12_3 0\n\0\0\0\1x"
    parts = ((0, 16, "PUB wp_ab12_3 0", False), (16, 4, "size = 1", True), (20, 1, "body", False))
    one = StepRecord(0, "A", "send", hex=whole.hex(), length=len(whole), parts=parts)

    (moved,) = rename_steps([one], {b"wp_ab12_3": b"wp_z_1"})

    assert moved.parts == (
        (0, 13, "PUB wp_z_1 0", False),
        (13, 4, "size = 1", True),
        (17, 1, "body", False),
    )
    assert moved.length == len(whole) - 3


def test_what_others_published_to_a_shared_topic_is_left_out() -> None:
    own, other = b"wp:0123456789:1;", b"wp:9876543210:1;"
    foreign_id = message_ids([message(2, other)])[0]
    steps = [
        step("send", b"PUB t\n" + own),
        step("receive", message(1, own)),
        step("receive", message(2, other)),
        step("send", b"FIN " + foreign_id + b"\n"),
        step("receive", OK),
    ]

    assert own_steps(steps) == (steps[0], steps[1], steps[4])


def test_a_close_that_the_kit_came_before_is_no_difference() -> None:
    before = [step("receive", REFUSED), step("close", note="by the kit")]
    after = [step("receive", REFUSED), step("close", note="by the target (end)")]

    assert compare(before, after, "nsq").same
    assert not compare(after, before, "nsq").same


def test_heartbeats_are_told_from_answers() -> None:
    assert is_beat(b"\0\0\0\x0f\0\0\0\0_heartbeat_")
    assert is_beat(b"NOP\n")
    assert not is_beat(OK)
    assert message_key(OK) == b""
