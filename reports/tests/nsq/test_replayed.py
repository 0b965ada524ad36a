import struct

from wire_fixture import error, message, ok, server_frame

from wireproof_reports.exchange.protocol import Act, Plan
from wireproof_reports.nsq.replayed import make_replayable


def plan(*acts: Act) -> Plan:
    return make_replayable(Plan(acts))


def test_topics_of_commands_and_requests_can_be_replaced() -> None:
    made = plan(
        Act("A", "send", b"PUB_EXT wp_1_1 0\n\0\0\0\x05\0\x02{}x"),
        Act("A", "send", b"SUB wp_1_2 wp_1_c_9 0\n"),
        Act("B", "send", b"POST /pub_ext?topic=wp_1_3&ext=%7B%7D HTTP/1.1\r\n\r\n"),
    )

    assert made.names == (b"wp_1_1", b"wp_1_2", b"wp_1_3")
    assert made.create[0] == b"  V2INTERNAL_CREATE_TOPIC wp_1_1 0 true\n"


def test_a_topic_that_was_plain_is_made_plain() -> None:
    sent = Act("A", "send", b"PUB_EXT wp_1_1 0\n")
    refused = Act("A", "receive", error("E_EXT_NOT_SUPPORT no"))

    assert plan(sent, refused).create[0].endswith(b" 0 false\n")
    assert plan(Act("A", "send", b"PUB wp_1_1 0\n")).create[0].endswith(b" 0 false\n")
    assert plan(sent).create[0].endswith(b" 0 true\n")


def test_heartbeats_and_their_answers_are_left_out() -> None:
    beat = Act("A", "receive", server_frame(0, b"_heartbeat_"))
    answer = Act("A", "send", b"NOP\n")
    other = Act("B", "send", b"NOP\n")

    assert plan(beat, other, answer).acts == (other,)
    assert plan(answer).acts == (answer,)


def test_acknowledgements_name_the_message_not_its_id() -> None:
    ids = [struct.pack(">QQ", number, 0) for number in (5, 6)]
    made = plan(
        Act("A", "receive", ok()),
        Act("A", "receive", message(5, None, b"x")),
        Act("A", "receive", message(6, None, b"y")),
        Act("A", "send", b"FIN " + ids[1] + b"\n"),
        Act("A", "send", b"REQ " + ids[0] + b" 100\n"),
        Act("A", "send", b"FIN " + bytes(16) + b"\n"),
    )

    assert [act.data for act in made.acts[3:]] == [
        (b"FIN ", 1, b"\n"),
        (b"REQ ", 0, b" 100\n"),
        b"FIN " + bytes(16) + b"\n",
    ]


def test_a_command_may_follow_a_body() -> None:
    made = plan(Act("A", "send", b"  V2IDENTIFY\n\0\0\0\x02{}PUB wp_1_1 0\n\0\0\0\x01x"))

    assert made.names == (b"wp_1_1",)


def test_clients_beside_the_case_use_its_topics_and_one_of_their_own() -> None:
    acts = (Act("A", "send", b"PUB_EXT wp_1_1 0\n"),)
    made = make_replayable(Plan(acts, violated="delivery", secured=frozenset({"secure"})))

    assert made.watched == ((b"wp_1_1",), (b"wp_neighbour", b"SUB_ORDERED", b"SUB_ORDER"))
    assert made.names == (b"wp_1_1", b"wp_neighbour")
    assert made.bystanders
    assert made.login
