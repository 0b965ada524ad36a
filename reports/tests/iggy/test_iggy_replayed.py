"""What a script of an Iggy finding creates before it sends the recorded bytes."""

from wireproof_reports.exchange.protocol import Act, Plan
from wireproof_reports.iggy.replayed import make_replayable
from wireproof_spec.decoding import decode
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.apache.frames import encode_request, make_request
from wireproof_spec.iggy.apache.header import RequestHeader
from wireproof_spec.iggy.bodies.command_shapes import payload_schema
from wireproof_spec.iggy.bodies.consumer_groups import GroupRequest
from wireproof_spec.iggy.bodies.identifier import numeric
from wireproof_spec.iggy.bodies.streams import CreateStream
from wireproof_spec.iggy.bodies.topics import CreateTopic
from wireproof_spec.iggy.frame import REQUEST

NAMES = {
    "stream": "wp_f_1",
    "stream_id": "70000",
    "topic": "wp_topic_1",
    "topic_id": "1",
    "group_id": "5",
    "watched": "wp_f_2",
    "watched_id": "75000",
    "scratch": "wp_f-3",
    "scratch_id": "80000",
    "scratch_topic": "wp_topic_3",
    "scratch_topic_id": "3",
}


def test_both_streams_with_a_topic_each_and_the_group_are_created() -> None:
    plan = make_replayable(Plan((), arranged=NAMES))
    asked = [decode(REQUEST, each) for each in plan.create]

    assert [decode(payload_schema(each.code), each.payload) for each in asked] == [
        CreateStream(70000, "wp_f_1"),
        CreateTopic(numeric(70000), 1, 1, None, None, None, None, "wp_topic_1"),
        CreateStream(80000, "wp_f-3"),
        CreateTopic(numeric(80000), 3, 1, None, None, None, None, "wp_topic_3"),
        GroupRequest(numeric(70000), numeric(1), 5),
    ]
    assert plan.names == (b"wp_f_1", b"wp_f-3")
    assert plan.numbers == (70000, 80000)
    assert decode(REQUEST, plan.probe).code == commands.PING


def test_clients_beside_the_case_have_streams_of_their_own_and_the_watched_one() -> None:
    plan = make_replayable(Plan((), arranged=NAMES, violated="delivery"))
    asked = [decode(REQUEST, each) for each in plan.create]
    made = [decode(payload_schema(each.code), each.payload) for each in asked]

    assert CreateStream(75000, "wp_f_2") in made
    assert CreateTopic(numeric(75000), 1, 1, None, None, None, None, "wp_topic_1") in made
    for sending, polling in plan.watched:
        assert sending[8:20] == polling[13:25]
    assert not make_replayable(Plan((), arranged=NAMES)).watched


def test_without_names_of_a_campaign_nothing_is_created() -> None:
    assert make_replayable(Plan(())).create == ()


def test_scripts_of_generation_apache_read_its_frames_and_log_in() -> None:
    request = encode_request(make_request(RequestHeader(client=1, operation=2, code=1)))
    acts = (Act("A", "open"), Act("A", "secret"), Act("A", "send", request))
    names = {"stream": "wp_f_1", "stream_id": "1", "scratch": "wp_f_3", "scratch_id": "3"}
    for plan in (Plan(acts), Plan(acts[:2], arranged=names), Plan(acts, arranged=names)):
        found = make_replayable(plan)
        assert found.reader == "iggy/apache_reader.py.jinja"
        assert found.login == "iggy/apache_login.py.jinja"
        assert found.create == ()
        assert found.probe == request
