"""Tracing: what a producer sends and reads, and what both sides log."""

import pytest

from wireproof_kit.clients.observe import failures, gave_up, if_came, results, shown, unless
from wireproof_kit.clients.story import Story
from wireproof_kit.nsq.clients.client import Client
from wireproof_kit.nsq.clients.logged import is_logged, is_mentioned, is_number_logged
from wireproof_kit.nsq.clients.script import Delivery, Reply, Script, Silence, always
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_spec.decoding import encode
from wireproof_spec.nsq import names
from wireproof_spec.nsq.trace_response import TRACE_RESPONSE, TraceResponse
from wireproof_suites.nsq.client.client_case import client_case
from wireproof_suites.nsq.client.seen import (
    Question,
    at_least,
    commands,
    finishes,
    play,
    publishes,
)
from wireproof_suites.nsq.client.test_order import HEAD, survival

IDS = {"one": 1, "high-bit": 2**63, "greatest": 2**64 - 1}
ANSWER = TraceResponse(2**63 + 70_000_001, 2**63 + 5, 2**63 + 70_000_002, 2**31 + 7)
TRACED = {"trace": "1"}
LOGGED = Delivery(
    internal_id=70_000_011, trace_id=2**62 + 70_000_012, offset=2**40 + 70_000_013, size=7_000_014
)
"""A message with numbers that nothing else in a log is likely to contain."""
LATER = (Delivery(internal_id=70_000_021), Delivery(internal_id=70_000_022))
LOOPBACK = "127.0.0.1"
"""The address of client and node alike: nothing shows to which of the two it belongs in a log."""
TIME = "|".join(
    (
        r"(?<!\d)1500000000",  # seconds, or with digits after them milli-, micro- or nanoseconds
        r"1\.5\d*e\+?(9|12|15|18)(?!\d)",
        r"(?<![0-9a-f])(0x)?0*(59682f00|15d3ef798|5543df72|14d1120d7)",  # the same four in hex
        r"2017\D{0,2}0?7\D{0,2}1[34](?!\d)",
        r"(?<!\d)1[34]\W+(0?7|jul\w*)\W+2017",
        r"(0?7|jul\w*)\W+1[34]\W.{0,20}2017",
    )
)
"""The timestamp of the logged message, 14 July 2017, 02:40 UTC, in forms that a log may have."""


def _trace_script(trace_id: int) -> Script:
    return Script("producer", publishes=1, message={"trace_id": str(trace_id)}, settings=TRACED)


def _pub_trace(story: Story) -> bool:
    return bool(commands(story, "PUB_TRACE"))


@client_case("trace/id", "smart.client-send.trace", "producer", "trace", "driver")
@pytest.mark.parametrize("which", IDS)
def test_id(client: Client, which: str) -> Observation:
    """A producer sends its user's trace id in the first 8 bytes of the PUB_TRACE body."""
    story = client.play(_trace_script(IDS[which]), _pub_trace)
    sent = next(iter(commands(story, "PUB_TRACE")), None)
    found = int.from_bytes(sent.body[:8], "big") if sent else -1
    if sent is not None and found != IDS[which]:
        return observed("other", difference=Difference("trace_id", 4, str(IDS[which]), str(found)))
    return shown(story, "as-given", seen=sent is not None)


@client_case("trace/grammar", "smart.client.trace-publish", "producer", "trace")
def test_grammar(client: Client) -> Observation:
    """A producer sends PUB_TRACE with topic and partition, and a body of at least 8 bytes."""
    story = client.play(_trace_script(1), _pub_trace)
    sent = next(iter(commands(story, "PUB_TRACE")), None)
    right = sent is not None and sent.words[:2] == (story.find_given("topic"), "0")
    return if_came(story, "as-published" if right else "other", came=sent is not None)


@client_case("trace/ordered", "smart.client-trace.ordered", "producer", "trace", "key", "driver")
def test_ordered(client: Client) -> Observation:
    """A producer uses PUB_TRACE for a message that has both a sharding id and a trace id."""
    script = Script(
        "producer",
        publishes=1,
        ordered=True,
        keys=("a",),
        message={"trace_id": "5"},
        settings=TRACED,
    )
    ends: dict[str, Question] = {"traced": _pub_trace, "untraced": lambda s: bool(publishes(s))}
    return play(client, script, ends, "not-published")


@client_case("trace/receipt", "smart.client-trace.receipt", "producer", "trace", "driver")
def test_receipt(client: Client) -> Observation:
    """A producer gives its user the internal id, trace id, offset and size of a trace answer."""
    script = Script(
        "producer",
        publishes=1,
        message={"trace_id": str(ANSWER.trace_id)},
        settings=TRACED,
        rules=(always("PUB_TRACE", Reply(encode(TRACE_RESPONSE, ANSWER))),),
    )
    story = client.play(script, _is_answered)
    told = next(iter(results(story, "produce")), None)
    if told is None and failures(story, "produce"):
        return gave_up(story, "failure")
    fields = told.fields if told else {}
    due = {
        "internal_id": str(ANSWER.internal_id),
        "trace_id": str(ANSWER.trace_id),
        "offset": str(ANSWER.disk_queue_offset),
        "size": ANSWER.disk_queue_data_size,
    }
    for name, value in due.items():
        if fields.get(name, value) != value:
            difference = Difference(name, None, str(value), str(fields.get(name)))
            return observed(f"other:{name}", difference=difference)
    untold = [name for name in due if name != "trace_id" and name not in fields]
    if told is not None and untold:
        note = f"the user is not told {', '.join(untold)}, which no text asks for"
        return unless(story, "unsupported", note=note)
    return if_came(story, "as-answered", came=told is not None)


def _is_answered(story: Story) -> bool:
    return bool(results(story, "produce") or failures(story, "produce"))


@client_case("trace/bare-ok", "smart.client-trace.bare-ok", "producer", "trace", "driver")
def test_bare_ok(client: Client) -> Observation:
    """A producer treats a bare OK to PUB_TRACE as an error."""
    script = Script(
        "producer",
        publishes=1,
        message={"trace_id": "77"},
        settings=TRACED,
        rules=(always("PUB_TRACE", Reply(names.OK)),),
    )
    ends: dict[str, Question] = {
        "failure": lambda s: bool(failures(s, "produce")),
        "success": lambda s: bool(results(s, "produce")),
    }
    return play(client, script, ends, "not-told")


@client_case("trace/switch", "smart.client.trace-switch", "producer", "trace", "driver")
def test_switch(client: Client) -> Observation:
    """A running producer switches tracing on for one message and off for the next."""
    script = Script(
        "producer",
        publishes=4,
        messages=({"trace_id": "5"}, {}),
        settings=TRACED,
    )
    story = client.play(script, at_least(4, lambda s: commands(s, "PUB", "PUB_TRACE")))
    sent = [event.name for event in commands(story, "PUB", "PUB_TRACE")]
    value = "switched" if sent[:4] == ["PUB_TRACE", "PUB"] * 2 else "fixed"
    return unless(story, value, seen=len(sent) >= 4, note=" ".join(sent[:4]))


@client_case("trace/log/producer", "smart.client.trace-log", "producer", "trace")
def test_producer_log(client: Client) -> Observation:
    """With tracing on, a producer logs internal id, trace id and offset of its messages."""
    script = Script(
        "producer",
        publishes=3,
        message={"trace_id": str(ANSWER.trace_id)},
        settings=TRACED,
        rules=(always("PUB_TRACE", Reply(encode(TRACE_RESPONSE, ANSWER))),),
    )
    wanted = (ANSWER.internal_id, ANSWER.trace_id, ANSWER.disk_queue_offset)
    ends: dict[str, Question] = {
        "logged": _all_logged(*wanted),
        "unlogged": at_least(3, lambda s: commands(s, "PUB_TRACE")),
    }
    return play(client, script, ends, "unlogged")


@client_case("trace/log/consumer", "smart.client.trace-log-consumer", "consumer", "trace-consumer")
def test_consumer_log(client: Client) -> Observation:
    """With tracing on, a consumer logs internal id, timestamp and IP addresses of messages."""

    def logged(story: Story) -> bool:
        is_id_logged = is_number_logged(story, LOGGED.internal_id or 0)
        return is_id_logged and is_logged(story, TIME) and is_mentioned(story, LOOPBACK)

    return _watch_log(client, logged)


@client_case(
    "trace/log/consumer/ordered",
    "smart.client.trace-log-consumer",
    "consumer",
    "trace-consumer",
    "order",
)
def test_ordered_consumer_log(client: Client) -> Observation:
    """With tracing on, an ordered consumer logs disk queue offset and data size of messages."""
    return _watch_log(client, _all_logged(LOGGED.offset, LOGGED.size), ordered=True)


@client_case(
    "trace/log/consumer/trace-id", "smart.client-trace.log-id", "consumer", "trace-consumer"
)
def test_consumer_log_id(client: Client) -> Observation:
    """With tracing on, a consumer logs the trace id of a message."""
    return _watch_log(client, _all_logged(LOGGED.trace_id))


def _watch_log(client: Client, logged: Question, *, ordered: bool = False) -> Observation:
    script = Script(
        "consumer",
        ordered=ordered,
        deliveries=(LOGGED, *LATER),
        settings=TRACED,
        consume={"trace": True},
    )
    ends: dict[str, Question] = {"logged": logged, "unlogged": at_least(3, finishes)}
    return play(client, script, ends, "unlogged")


def _all_logged(*numbers: int | None) -> Question:
    return lambda story: all(is_number_logged(story, number or 0) for number in numbers)


@client_case("trace/survives", "smart.client-robust.prefix", "consumer", "trace-consumer")
@pytest.mark.parametrize("size", [0, 5, 11])
def test_survives(client: Client, size: int) -> Observation:
    """A tracing consumer survives a message too short for offset and size."""
    return survival(client, trace=True, raw=HEAD + b"x" * size)


@client_case("trace/silent", "smart.client-publish.unanswered", "producer", "trace", "driver")
def test_unanswered(client: Client) -> Observation:
    """A tracing producer reports failure to its user when no node answers."""
    script = Script(
        "producer",
        publishes=1,
        message={"trace_id": "7"},
        settings=TRACED,
        rules=(always("PUB_TRACE", Silence()),),
    )
    ends: dict[str, Question] = {
        "failure": lambda s: bool(failures(s, "produce")),
        "success": lambda s: bool(results(s, "produce")),
    }
    return play(client, script, ends, "not-told", within=15.0)
