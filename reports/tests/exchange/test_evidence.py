import msgspec
from bundle_fixture import case, failed, failures, published
from wire_fixture import Exchange, error, message, ok, pub_ext

from wireproof_reports.exchange.evidence import exchange, first_difference, talk
from wireproof_reports.exchange.failing import failing_pairs
from wireproof_spec.record import DifferenceRecord
from wireproof_spec.step_record import StepRecord, TranscriptRecord


def test_both_directions_are_annotated() -> None:
    steps = exchange(published().record(), protocol="nsq").steps

    assert [step.way for step in steps] == ["aside", "out", "out", "in", "out", "in"]
    assert steps[4].title == "sent on A"
    assert [line.label for line in steps[4].lines][-2:] == ["json_header", "body"]
    assert [line.label for line in steps[5].lines] == ["size", "frame_type", "data"]


def test_what_was_made_wrong_and_what_differs_is_marked() -> None:
    case = list(failures())[3]
    steps = exchange(case.transcript, protocol="nsq", difference=case.difference).steps

    wrong = [line.label for step in steps for line in step.lines if line.wrong]
    differing = [
        (line.label, line.differs) for step in steps for line in step.lines if line.differs
    ]
    assert wrong == ["json_header"]
    assert differing == [("frame_type", "expected 1 (error)")]


def test_a_death_rests_on_what_was_made_wrong_or_sent_last() -> None:
    wrong = list(failures())[3]
    fatal = msgspec.structs.replace(wrong, observation="died", evidence=())
    plain = msgspec.structs.replace(fatal, transcript=published().record())

    (of_wrong,) = failing_pairs(fatal, "nsq")
    (of_plain,) = failing_pairs(plain, "nsq")

    assert of_wrong.asked is not None
    assert any(part[3] for part in wrong.transcript.steps[of_wrong.asked].parts)
    assert of_plain.asked == 4


def test_an_exchange_tells_whether_it_is_marked() -> None:
    case = next(iter(failures()))

    assert exchange(case.transcript, protocol="nsq", difference=case.difference).is_marked
    assert not exchange(case.transcript, protocol="nsq").is_marked


def test_a_difference_without_a_place_marks_nothing() -> None:
    found = DifferenceRecord("nowhere", None, "1", "2")
    steps = exchange(published().record(), protocol="nsq", difference=found).steps

    assert not any(line.differs for step in steps for line in step.lines)


def test_an_unknown_protocol_is_shown_unnamed() -> None:
    steps = exchange(published().record(), protocol="mqx").steps

    assert [line.label for line in steps[5].lines] == [""]


def test_long_bytes_come_back_whole() -> None:
    (view,) = exchange(Exchange().receive(ok() * 2000).record(), protocol="mqx").steps

    assert view.size == 20000
    assert view.lines[0].omitted > 19000


def test_many_steps_lose_their_middle() -> None:
    talk = Exchange()
    for _ in range(150):
        talk.receive(ok())
    shown = exchange(talk.record(), protocol="nsq")

    assert len(shown.head) + shown.omitted + len(shown.tail) == 150
    assert shown.tail[-1].time == exchange(talk.record(), protocol="nsq").steps[-1].time


def test_damaged_bytes_are_no_bytes() -> None:
    damaged = TranscriptRecord(
        steps=(
            StepRecord(at_us=1, conn="A", kind="send", hex="zz"),
            StepRecord(at_us=2, conn="A", kind="send", deflate="!!"),
            StepRecord(at_us=3, conn="A", kind="send", deflate="AAAA"),
        )
    )

    assert [step.size for step in exchange(damaged, protocol="nsq").steps] == [0, 0, 0]


def test_http_is_text_without_control_characters() -> None:
    talk = Exchange().http(b"GET / HTTP/1.1\r\nX: \x1b[31m\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n\0")
    request, response = exchange(talk.record(), protocol="nsq").steps

    assert request.text == "GET / HTTP/1.1\nX: \\x1b[31m\n\n"
    assert response.text.endswith("\\x00")


def test_talk_has_one_line_a_step() -> None:
    lines = talk(published(body=b"x" * 100).record()).splitlines()

    assert len(lines) == 5
    assert lines[3].startswith("sent A        135  PUB_EXT wp_9f2c_4 0·")
    assert "  50 55 42 5f 45 58 54 20" in lines[3]
    assert lines[4].split() == ["received", "A", "10", "········OK", *ok().hex(" ").split()]


def test_long_talk_loses_its_middle() -> None:
    steps = Exchange()
    for _ in range(150):
        steps.receive(ok())

    assert "… 90 steps left out" in talk(steps.record())


def test_an_answer_where_an_error_was_due_differs_in_its_type() -> None:
    refused = failed("a/b", "ext.publish.header-json", "t", "ok,open", ["error:*,open"])
    difference = first_difference(refused, "nsq")

    assert difference == DifferenceRecord("frame_type", 4, "1 (error)", "0 (response)")
    assert first_difference(refused, "mqx") is None
    accepted = failed("a/b", "ext.publish.accept", "t", "ok,closed", ["ok,open"])
    assert first_difference(accepted, "nsq") is None
    assert first_difference(case("a/b", "ext.publish.accept", "t", "silence"), "nsq") is None


def test_the_answer_to_what_was_made_wrong_is_marked_not_a_later_one() -> None:
    steps = Exchange().send(pub_ext(b"{", b"x", wrong="json_header")).receive(ok())
    steps.send(pub_ext(b"{}", b"goes on")).receive(ok())
    found = DifferenceRecord("frame_type", 4, "1 (error)", "0 (response)")
    views = exchange(steps.record(), protocol="nsq", difference=found).steps

    assert [any(line.differs for line in view.lines) for view in views] == [
        False,
        True,
        False,
        False,
    ]


def test_the_answer_to_a_check_is_never_marked() -> None:
    steps = Exchange().send(pub_ext(b"{", b"x")).receive(ok())
    steps.send(pub_ext(b"{}", b"goes on"), note="one more publish, to see").receive(ok())
    found = DifferenceRecord("frame_type", 4, "1 (error)", "0 (response)")
    views = exchange(steps.record(), protocol="nsq", difference=found).steps

    marked = [any(line.differs for line in view.lines) for view in views]
    assert marked == [False, True, False, False]


def test_a_line_that_is_as_due_is_never_marked() -> None:
    found = DifferenceRecord("data", 0, "OK", "hello")
    steps = Exchange().receive(ok()).receive(error("E_INVALID x")).record()
    views = exchange(steps, protocol="nsq", difference=found).steps

    assert not any(line.differs for view in views for line in view.lines)


def test_the_header_of_a_delivered_message_is_found_by_its_published_name() -> None:
    steps = Exchange().open(extend_support=True).receive(message(1, b'{"a":"c"}', b"x")).record()
    found = DifferenceRecord("json_header", 6, "62 22 7d", "63 22 7d")
    views = exchange(steps, protocol="nsq", difference=found).steps

    assert [line.label for line in views[-1].lines if line.differs] == ["extend.json_header"]


def test_transcripts_survive_the_wire_format() -> None:
    record = published(body=b"y" * 9000).record()
    again = msgspec.json.decode(msgspec.json.encode(record), type=TranscriptRecord)

    assert exchange(again, protocol="nsq") == exchange(record, protocol="nsq")
