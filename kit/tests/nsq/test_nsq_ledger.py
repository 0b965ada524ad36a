"""The rules of content of NSQ, each broken alone in a transcript, and what each allows."""

import struct
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from nsq_exchange import BODY, EXT, HEADER, ORDERED, PLAIN, Exchange, header

from wireproof_kit.nsq.lookup.servers import UPDATE_PATH
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire import frames
from wireproof_kit.wire.outgoing import Outgoing
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.decoding import encode
from wireproof_spec.nsq.frame import error_frame, message_frame, response_frame
from wireproof_spec.nsq.message import Extend
from wireproof_spec.nsq.trace_response import TRACE_RESPONSE, TraceResponse

ORDERED_EXT = replace(ORDERED, name="wp_ordered_ext", extend=True)
BARE = Extend(0, None)


@pytest.fixture
def exchange() -> Exchange:
    return Exchange()


def test_a_right_delivery_keeps_the_clauses_of_content(exchange: Exchange) -> None:
    exchange.publish()
    exchange.deliver(exchange.subscribe())

    outcomes = exchange.outcomes()

    assert not any(each.broken for each in outcomes)
    assert {"ext.consume.layout", "ext.consume.body-intact", "ext.consume.header-intact"} <= {
        each.clause for each in outcomes
    }


BREACHES = {
    "body": ({"body": BODY + b"x"}, "ext.consume.body-intact", "delivered:body-changed"),
    "header": ({"extend": header(k="w")}, "ext.consume.header-intact", "delivered:header-changed"),
    "no-header": ({"extend": Extend(0, None)}, "ext.consume.header-intact", "delivered:no-header"),
    "attempts": ({"attempts": 2}, "ext.consume.attempts", "attempts:other"),
    "indicator": ({"attempts": 0xA001}, "ext.consume.attempts", "high-bits"),
    "timestamp": (
        {"timestamp_ns": 1_700_000_000_000},
        "ext.consume.layout",
        "timestamp:milliseconds",
    ),
}


@pytest.mark.parametrize(("changes", "clause", "word"), BREACHES.values(), ids=BREACHES)
def test_a_breach_is_seen_in_any_case(
    exchange: Exchange, changes: Mapping[str, object], clause: str, word: str
) -> None:
    exchange.publish()
    exchange.deliver(exchange.subscribe(), changes=changes)

    assert exchange.broken() == {clause: word}


@pytest.mark.parametrize(
    "found",
    [
        {"attempts": 1},
        {"extend": Extend(4, b'{ "k" : "v" }')},
        {"extend": Extend(9, b'{"k":"v"}')},
    ],
    ids=["as-sent", "respelled", "other-version"],
)
def test_what_the_cases_allow_is_no_breach(
    exchange: Exchange, found: Mapping[str, object]
) -> None:
    exchange.publish()
    exchange.deliver(exchange.subscribe(), changes=found)

    assert exchange.broken() == {}


def test_a_message_of_another_partition_is_foreign(exchange: Exchange) -> None:
    exchange.publish(replace(EXT, partition=1))
    exchange.deliver(exchange.subscribe())

    assert exchange.broken() == {"smart.partition.own-messages": "foreign"}


def test_each_partition_has_ids_of_its_own(exchange: Exchange) -> None:
    """The message may be of a case whose exchange the ledger does not have."""
    answer = response_frame(encode(TRACE_RESPONSE, TraceResponse(7, 77, 0, 42)))
    exchange.publish(replace(EXT, partition=1), trace_id=77, answer=answer)
    exchange.deliver(exchange.subscribe(), changes={"body": b"wp:9876543210:1;"})

    assert exchange.broken() == {}


def test_ids_and_position_are_those_of_the_answer(exchange: Exchange) -> None:
    answer = response_frame(encode(TRACE_RESPONSE, TraceResponse(7, 77, 0, 42)))
    exchange.publish(ORDERED, header=None, trace_id=77, answer=answer)
    conn = exchange.subscribe(ORDERED)
    exchange.deliver(conn, ORDERED, {"internal_id": 8, "trace_id": 78, "disk_queue_offset": 1})

    assert exchange.broken() == {
        "smart.message-id.halves": "other-trace-id",
        "smart.trace.internal-id": "other-internal-id",
        "smart.order.position": "other-position",
    }


def test_bytes_with_two_readings_are_read_as_the_answer_says(exchange: Exchange) -> None:
    """Offset, size, version 0: the bytes are also version 0, another offset, another size."""
    answer = response_frame(encode(TRACE_RESPONSE, TraceResponse(7, 77, 688, 47)))
    exchange.publish(ORDERED_EXT, header=None, trace_id=77, answer=answer)
    conn = exchange.subscribe(ORDERED_EXT)
    head = struct.pack(">qHQQ", 1_700_000_000_000_000_000, 1, 7, 77)
    exchange.receive(conn, message_frame(head + struct.pack(">QI", 688, 47) + b"\0" + BODY))

    assert exchange.broken() == {}
    assert "smart.order.position" in {each.clause for each in exchange.outcomes()}


def test_a_requeued_message_has_one_attempt_more_and_the_same_id(exchange: Exchange) -> None:
    exchange.publish()
    conn = exchange.subscribe()
    message_id = exchange.deliver(conn)
    exchange.send(conn, frames.req(message_id, 0))
    exchange.ask(conn)
    exchange.deliver(conn, changes={"attempts": 1, "internal_id": 9})

    assert exchange.broken() == {
        "ext.consume.attempts": "attempts:other",
        "smart.message-id.again": "other",
    }


def test_the_delivery_to_a_client_that_left_may_count_or_not(exchange: Exchange) -> None:
    exchange.publish()
    first = exchange.subscribe()
    exchange.deliver(first)
    exchange.close(first)
    exchange.deliver(exchange.subscribe(), changes={"attempts": 1})

    assert exchange.broken() == {}


@pytest.mark.parametrize(
    ("ready", "is_late", "clause"),
    [
        (5, False, "never-other-tag"),
        (0, False, "other-tag-alone"),
        (5, True, "other-tag-alone"),
    ],
)
def test_a_tagged_message_goes_to_no_client_with_another_tag(
    exchange: Exchange, ready: int, is_late: bool, clause: str
) -> None:
    names = {"##client_dispatch_tag": "a"}
    if not is_late:
        exchange.subscribe(ready=ready)
    exchange.publish(header=names)
    if is_late:  # the message may be on its way to the other client
        exchange.subscribe(ready=ready)
    exchange.deliver(exchange.subscribe(tag="b"), changes={"extend": header(**names)})

    assert exchange.broken() == {f"ext.dispatch.{clause}": "to:other"}


def test_a_header_of_internal_names_alone_may_be_removed(exchange: Exchange) -> None:
    exchange.publish(header={"##client_dispatch_tag": "a"})
    exchange.deliver(exchange.subscribe(tag="a"), changes={"extend": Extend(0, None)})

    assert exchange.broken() == {}


@pytest.mark.parametrize(
    "answer",
    [error_frame("E_BAD_MESSAGE"), error_frame("E_FAILED_ON_NOT_WRITABLE")],
    ids=["refused", "possible"],
)
def test_what_was_not_accepted_may_come(exchange: Exchange, answer: bytes) -> None:
    exchange.publish(answer=answer)
    exchange.deliver(exchange.subscribe())

    assert exchange.broken() == {}


def test_what_is_only_possible_comes_unaltered(exchange: Exchange) -> None:
    exchange.publish(answer=error_frame("E_FAILED_ON_NOT_WRITABLE"))
    exchange.deliver(exchange.subscribe(), changes={"extend": header(k="w")})

    assert exchange.broken() == {"ext.consume.header-intact": "delivered:header-changed"}


def test_a_frame_that_is_wrong_on_purpose_binds_nothing(exchange: Exchange) -> None:
    exchange.send("P", frames.pub_ext(EXT, b'{"k":1', BODY))
    exchange.receive("P", response_frame(b"OK"))
    exchange.deliver(exchange.subscribe(), changes={"body": BODY + b"x"})

    assert exchange.broken() == {}


def test_two_publishes_with_one_body_are_each_others_explanation(exchange: Exchange) -> None:
    exchange.publish(header={"k": "w"})
    exchange.publish(header=HEADER)
    exchange.deliver(exchange.subscribe())

    assert exchange.broken() == {}


def test_a_header_by_http_is_compared_by_its_values(exchange: Exchange) -> None:
    exchange.post()
    exchange.deliver(exchange.subscribe(), changes={"extend": header(k="w")})

    (outcome,) = [each for each in exchange.outcomes() if each.broken]
    assert (outcome.clause, outcome.way) == ("ext.http.header-stored", "http")
    kinds = [place.step.kind for place in outcome.evidence]
    assert kinds == ["send", "send", "send", "request", "response", "receive"]


@pytest.mark.parametrize(
    ("found", "broken"),
    [({"k": "v", "a-b": "1"}, False), ({"k": "v", "A-B": "1"}, True), ({"k": "v"}, True)],
)
def test_request_headers_are_members_of_the_header(
    exchange: Exchange, found: Mapping[str, str], broken: bool
) -> None:
    exchange.post(headers=[(b"x-nsqext-A-B", b"1")])
    exchange.deliver(exchange.subscribe(), changes={"extend": header(**found)})

    expected = {"ext.http.x-nsqext": "delivered:header-changed"} if broken else {}
    assert exchange.broken() == expected


def test_a_name_from_both_places_is_not_compared(exchange: Exchange) -> None:
    exchange.post(headers=[(b"X-NSQEXT-K", b"w")])
    exchange.deliver(exchange.subscribe(), changes={"extend": header(k="x")})

    assert exchange.broken() == {}


@pytest.mark.parametrize("data", [b"", b"\0", b"\xff" * 40, b"\0\0\0\7\0\0\0\2abc"])
def test_nonsense_from_a_target_is_read_over(exchange: Exchange, data: bytes) -> None:
    exchange.publish()
    exchange.receive(exchange.subscribe(), data)
    exchange.transcript.add("request", "H", data=data)
    exchange.transcript.add("response", "H", data=data)

    assert exchange.broken() == {}


def by_mpub_ext() -> Outgoing:
    return frames.mpub_ext(EXT, [(HEADER, BODY)])


def by_mpub_trace() -> Outgoing:
    return frames.mpub_trace(EXT, [(5, BODY)])


@pytest.mark.parametrize("command", [by_mpub_ext, by_mpub_trace])
def test_commands_that_no_text_names_bind_nothing(
    exchange: Exchange, command: Callable[[], Outgoing]
) -> None:
    exchange.send("P", command())
    exchange.receive("P", response_frame(b"OK"))
    conn = exchange.subscribe()
    exchange.deliver(conn, changes={"extend": Extend(0, None)})
    exchange.deliver(conn, changes={"body": b"split otherwise", "internal_id": 8})

    assert exchange.broken() == {}


def batch_to(exchange: Exchange, topic: Topic) -> None:
    exchange.send("P", frames.mpub(topic, [BODY]))
    exchange.receive("P", response_frame(b"OK"))


def post_to(path: str) -> Callable[[Exchange, Topic], None]:
    def post(exchange: Exchange, topic: Topic) -> None:
        exchange.request(path, {"topic": topic.name, "partition": topic.partition}, BODY)

    return post


@pytest.mark.parametrize(
    ("publish", "is_named"),
    [
        (Exchange.publish, True),
        (batch_to, False),
        (post_to("/pub"), False),
        (post_to("/mpub"), False),
    ],
    ids=["PUB", "MPUB", "pub", "mpub"],
)
def test_the_partition_counts_where_a_text_names_it(
    exchange: Exchange, publish: Callable[[Exchange, Topic], None], is_named: bool
) -> None:
    publish(exchange, replace(PLAIN, partition=1))
    exchange.deliver(exchange.subscribe(PLAIN), PLAIN)

    assert exchange.broken() == ({"smart.partition.own-messages": "foreign"} if is_named else {})


@pytest.mark.parametrize(
    ("topic", "found", "clause", "word"),
    [
        (EXT, PLAIN, "ext.consume.layout", "plain"),
        (PLAIN, EXT, "ext.consume.plain-topic", "plain-ext"),
        (ORDERED_EXT, ORDERED, "smart.order.ext-place", "ordered"),
        (ORDERED, ORDERED_EXT, "smart.order.layout", "ordered-ext"),
    ],
)
def test_a_message_has_the_ext_part_if_its_topic_has(
    exchange: Exchange, topic: Topic, found: Topic, clause: str, word: str
) -> None:
    exchange.publish(topic, header=None)
    exchange.deliver(exchange.subscribe(topic), found, {"extend": BARE} if found.extend else {})

    assert exchange.broken() == {clause: f"delivered:layout-{word}"}


def with_wrong_length(written: bytes, body: bytes = BODY) -> bytes:
    extend = b"\x04" + written + b'{"k":"v"}'
    head = (1_700_000_000 * 10**9).to_bytes(8) + b"\0\1" + (7).to_bytes(8) + bytes(8)
    return message_frame(head + extend + body)


@pytest.mark.parametrize("written", [b"\x09\0", b"\0\x0b", b"\0\0\0\x09", b""])
@pytest.mark.parametrize("upgraded", [False, True])
@pytest.mark.parametrize("body", [BODY, b"no token"])
def test_a_wrong_ext_length_is_a_breach_of_the_layout_alone(
    exchange: Exchange, written: bytes, body: bytes, *, upgraded: bool
) -> None:
    topic = replace(EXT, name=PLAIN.name) if upgraded else EXT
    if upgraded:
        exchange.request(UPDATE_PATH, {"topic": PLAIN.name, "upgradeext": "true"})
    conn = exchange.subscribe(topic, identity={"extend_support": True})
    exchange.publish(topic, body)
    exchange.receive(conn, with_wrong_length(written, body))

    word = {"ext.consume.layout": "delivered:layout-wrong-ext-length"}
    assert exchange.broken() in ((word,) if body == BODY else (word, {}))


@pytest.mark.parametrize("extended", [False, True])
def test_an_upgrade_leaves_the_layout_of_its_time_open(exchange: Exchange, extended: bool) -> None:
    conn = exchange.subscribe(PLAIN, identity={"extend_support": extended})
    exchange.request(UPDATE_PATH, {"topic": PLAIN.name, "upgradeext": "true"})
    exchange.publish(PLAIN)
    exchange.deliver(conn, PLAIN)
    exchange.deliver(conn, EXT, {"attempts": 2, "extend": BARE})

    assert exchange.broken() == {}


def test_a_client_of_the_other_kind_may_get_either_layout(exchange: Exchange) -> None:
    """That it was not refused is a breach of ext.subscribe.support-refused alone."""
    exchange.publish(PLAIN)
    conn = exchange.subscribe(PLAIN, identity={"extend_support": True})
    exchange.deliver(conn, PLAIN)

    assert exchange.broken() == {}


def test_every_way_is_in_the_catalogue() -> None:
    cases = [Exchange() for _ in range(5)]
    by_http, elsewhere, ordered, batch, later = cases
    second = replace(EXT, partition=1)
    by_http.post()
    conn = by_http.subscribe()
    by_http.deliver(conn)
    by_http.deliver(conn)
    trace = {"##trace_id": "5"}
    elsewhere.publish(second, header=trace)
    found = {"extend": header(**trace), "trace_id": 5}
    elsewhere.deliver(elsewhere.subscribe(second), second, found)
    ordered.publish(ORDERED)
    ordered.deliver(ordered.subscribe(ORDERED), ORDERED)
    batch.send("P", frames.mpub(PLAIN, [BODY]))
    batch.receive("P", response_frame(b"OK"))
    batch.deliver(batch.subscribe(PLAIN), PLAIN)
    later.publish()
    later.subscribe()
    later.deliver(later.subscribe())

    ways = {outcome.way for case in cases for outcome in case.outcomes()}

    assert ways == {
        "http",
        "again+http",
        "other-partition+traced",
        "ordered",
        "batch",
        "later-client",
    }
    for way in ways:
        assert load_catalogue("nsq").find_ways(f"nsq/passing/ext.consume.attempts/{way}")
