"""Connections to nodes: how they begin, what keeps them, what ends them."""

import pytest

from wireproof_kit.clients.events import Ended
from wireproof_kit.clients.observe import any_of, is_marked, shown, unless
from wireproof_kit.clients.story import Story
from wireproof_kit.nsq.clients.client import Client
from wireproof_kit.nsq.clients.events import Commanded, Sent
from wireproof_kit.nsq.clients.heartbeats import rest_on_beat
from wireproof_kit.nsq.clients.script import (
    NODE_1,
    NODE_2,
    After,
    Beat,
    Bytes,
    Close,
    Delay,
    Delivery,
    Note,
    Push,
    Refuse,
    Rule,
    Script,
    always,
    once,
)
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_spec import json_schema, strict_json
from wireproof_spec.nsq import error_codes
from wireproof_spec.nsq.frame import FRAME_TYPE_MESSAGE, error_frame
from wireproof_spec.nsq.names import HEARTBEAT
from wireproof_spec.wire_error import WireError
from wireproof_suites.nsq.client.client_case import client_case
from wireproof_suites.nsq.client.seen import (
    NEXT_LOOKUP,
    REOPENING,
    Question,
    at_least,
    awaits_lookup,
    begin_in_order,
    closed_by_client,
    comes_before,
    commands,
    distinct,
    end_of,
    error_sent,
    finishes,
    is_reopened,
    node_connections,
    play,
    play_beats,
    publishes,
    subscriptions,
    unless_original,
)

MANY, BEATS = 1000, 3
LONG, AGAIN, POLLED_S = 15.0, 0.5, 2.0
KEPT = 0.4
"""Seconds after its first publish when a producer is sent heartbeats: one that keeps no connection
has closed this one by then. On a connection about to be closed a heartbeat proves nothing."""
WORK = ("PUB", "PUB_TRACE", "PUB_EXT", "MPUB", "SUB", "SUB_ORDERED", "SUB_ORDER", "SUB_ADVANCED")
NO_IDENTIFY = "the client sends no IDENTIFY, which the original protocol lets it leave out"


def works(story: Story) -> bool:
    return bool(publishes(story) or subscriptions(story))


def _leaves_identify_out(story: Story) -> bool:
    """Return True if the client did its work without ever sending IDENTIFY."""
    return works(story) and not commands(story, "IDENTIFY")


@client_case("connection/handshake", "smart.client.handshake")
def test_handshake(client: Client) -> Observation:
    """A client sends the magic, then IDENTIFY, then any other command, on each connection."""
    script = Script(client.role, publishes=MANY, leaders={0: NODE_1, 1: NODE_2}, rules=REOPENING)
    story = client.play(script, is_reopened)
    value = "in-order" if begin_in_order(story) else "no-identify"
    return unless_original(shown(story, value, seen=works(story)), story, "no-identify")


@client_case("connection/identify/answer", "smart.client.identify-verified")
def test_identify_answer(client: Client) -> Observation:
    """After IDENTIFY, a client sends no other command until the node has answered."""
    late = always("IDENTIFY", Delay(0.7))
    story = client.play(Script(client.role, publishes=1, rules=(late,)), works)
    if _leaves_identify_out(story):
        return unless(story, "unsupported", note=NO_IDENTIFY)
    hurried = any(not _is_identified(story, event) for event in commands(story, *WORK))
    seen = shown(story, "hurried" if hurried else "waited", seen=works(story))
    return unless_original(seen, story, "hurried")


def _is_identified(story: Story, work: Commanded) -> bool:
    """Return True if the node had sent something on the connection before this command came."""
    answer = story.first(Sent, lambda event: event.conn == work.conn)
    return comes_before(answer, work, story)


@client_case("connection/identify/error", "smart.client.identify-verified")
def test_identify_error(client: Client) -> Observation:
    """A client whose IDENTIFY is refused does not use the connection."""
    script = Script(
        client.role,
        publishes=MANY,
        rules=(
            always("IDENTIFY", Refuse(error_codes.E_BAD_BODY, "IDENTIFY failed")),
            always("IDENTIFY", After(1.0, (Beat(),))),
        ),
    )
    ends: dict[str, Question] = {"used": _is_used, "closed": _is_closed, "kept": _is_left}
    story = client.play(script, any_of(_leaves_identify_out, *ends.values()))
    if _leaves_identify_out(story):
        return unless(story, "unsupported", note=NO_IDENTIFY)
    return unless_original(end_of(story, ends, "kept"), story, "used")


def _is_used(story: Story) -> bool:
    """Return True if work was sent on a connection whose IDENTIFY was refused."""
    refused = {each.conn for each in commands(story, "IDENTIFY")}
    return any(each.conn in refused for each in commands(story, *WORK))


def _is_closed(story: Story) -> bool:
    refused = error_sent(story)
    return refused is not None and closed_by_client(story, refused.conn)


def _is_left(story: Story) -> bool:
    """Return True if a heartbeat was answered, or the client has turned to other connections."""
    return bool(commands(story, "NOP")) or len(commands(story, "IDENTIFY")) > 3


@client_case("connection/identify/fields", "smart.client-connection.identify-fields")
def test_identify_fields(client: Client) -> Observation:
    """The IDENTIFY fields that a client sends have the names and types of the original NSQ."""
    story = client.play(Script(client.role, publishes=1), any_of(works, _has_identified))
    if _leaves_identify_out(story):
        return unless(story, "unsupported", note=NO_IDENTIFY)
    sent = next(iter(commands(story, "IDENTIFY")), None)
    if sent is None:
        return unless(story, "no-identify", seen=False)
    try:
        value = strict_json.read(sent.body).value
    except WireError as error:
        return observed("not-json", note=str(error))
    for fault in json_schema.check("nsq/identify-original", value):
        difference = Difference(fault.pointer, None, fault.expected, fault.found)
        return observed("other", difference=difference)
    return observed("as-the-original")


def _has_identified(story: Story) -> bool:
    return bool(commands(story, "IDENTIFY"))


@client_case("connection/address", "smart.client.address", "lookup")
def test_address(client: Client) -> Observation:
    """A client connects to broadcast_address and tcp_port, not to remote_address."""
    script = Script(client.role, publishes=1, is_about_address=True)
    story = client.play(script, works)
    return unless(story, "broadcast" if works(story) else "other", seen=works(story))


@client_case("connection/address/each", "smart.client.address", "consumer", "lookup")
def test_each_address(client: Client) -> Observation:
    """A consumer connects to broadcast_address and tcp_port of both nodes of its topic."""
    script = Script("consumer", leaders={0: NODE_1, 1: NODE_2}, is_about_address=True)
    both: dict[str, Question] = {
        "broadcast": lambda story: distinct(each.peer for each in node_connections(story)) == 2
    }
    return play(client, script, both, "other")


@client_case("connection/heartbeat/producer", "smart.client.heartbeat", "producer")
def test_producer_heartbeat(client: Client) -> Observation:
    """A producer answers each of three heartbeats with some command."""
    rules = (*_rhythm("PUBLISH", begin=KEPT), _PERIOD)
    return _of_kept(client, Script("producer", publishes=1, rules=rules), _all_beats_answered)


@client_case("connection/heartbeat/consumer", "smart.client.heartbeat", "consumer")
def test_consumer_heartbeat(client: Client) -> Observation:
    """A consumer answers each of three heartbeats with some command, also just after SUB."""
    script = Script("consumer", rules=_rhythm("SUBSCRIBE"))
    return play_beats(client, script, _all_beats_answered)


@client_case("connection/nop/producer", "smart.client.heartbeat-nop", "producer")
def test_producer_nop(client: Client) -> Observation:
    """A producer answers heartbeats with NOP."""
    rules = (*_beats("PUBLISH", begin=KEPT), _PERIOD)
    return _of_kept(client, Script("producer", publishes=1, rules=rules), _three_nops)


@client_case("connection/nop/consumer", "smart.client.heartbeat-nop", "consumer")
def test_consumer_nop(client: Client) -> Observation:
    """A consumer answers heartbeats with NOP, also directly after its subscription."""
    return play_beats(client, Script("consumer", rules=_beats("SUBSCRIBE")), _three_nops)


@client_case("connection/heartbeat/busy", "smart.client.asynchronous", "consumer", "driver")
def test_busy_heartbeat(client: Client) -> Observation:
    """A consumer answers heartbeats while a handler works on a message."""
    rules = (once("RDY", Push((Delivery(),))), *_rhythm("RDY", begin=0.5))
    script = Script("consumer", rules=rules, handler="hold", consume={"hold_ms": 5000})
    story = client.play(script, any_of(_is_heard_at_work, at_least(1, finishes)), within=LONG)
    if not _beats_at_work(story):
        return shown(story, "late", seen=False)
    heard = _is_heard_at_work(story)
    seen = unless(story, "answered" if heard else "late", seen=heard or bool(finishes(story)))
    return story.rest_on(_beats_at_work(story)[0], seen)


def _is_heard_at_work(story: Story) -> bool:
    """Return True if three heartbeats were answered between a message and the first FIN."""
    done = next(iter(finishes(story)), None)
    answered = [
        beat
        for beat in _beats_at_work(story)
        if any(comes_before(each, done, story) for each in _answers_to(story, beat))
    ]
    return len(answered) >= BEATS


def _beats_at_work(story: Story) -> list[Sent]:
    """Return the heartbeats sent after the first message."""
    message = story.first(Sent, lambda event: event.frame_type == FRAME_TYPE_MESSAGE)
    return [beat for beat in _beats_sent(story) if message and comes_before(message, beat, story)]


def _beats(event: str, *, begin: float = 0.0) -> tuple[Rule, ...]:
    """Return rules for a heartbeat some time after an event and a further one for each answer."""
    return once(event, After(begin, (Beat(),))), Rule("NOP", (Beat(),), last=BEATS - 1)


def _rhythm(event: str, *, begin: float = 0.0) -> tuple[Rule, ...]:
    """Return a rule for three heartbeats, whether they are answered or not."""
    return (once(event, *(After(begin + 0.4 * number, (Beat(),)) for number in range(BEATS))),)


_PERIOD = once("PUBLISH", After(KEPT + 0.4 * BEATS, (Note(),)))


def _of_kept(client: Client, script: Script, answered: Question) -> Observation:
    """Observe whether a producer answers the heartbeats on the connection of its first publish.

    The text lets a producer keep its connections; one that does not owes no heartbeat an answer.
    """
    story = client.play(script, any_of(answered, _has_let_go))
    if answered(story) or not _has_let_go(story):
        came = answered(story)
        return rest_on_beat(story, unless(story, "answered" if came else "silent", seen=came))
    return unless(
        story,
        "unsupported",
        note="the producer closed its connection after the publish; it owes no answer",
    )


def _has_let_go(story: Story) -> bool:
    """Return True if the client itself closed the connection of its first publish, and lives.

    A node gives a connection up at the second heartbeat without an answer: no sooner is it owed.
    """
    first = next(iter(publishes(story)), None)
    if first is None or not is_marked(story) or story.first(Ended) is not None:
        return False
    missed = sum(not _answers_to(story, beat) for beat in _beats_sent(story))
    return missed < 2 and closed_by_client(story, first.conn)


def _three_nops(story: Story) -> bool:
    return len(commands(story, "NOP")) >= BEATS


def _all_beats_answered(story: Story) -> bool:
    beats = _beats_sent(story)
    return len(beats) >= BEATS and all(_answers_to(story, beat) for beat in beats)


def _beats_sent(story: Story) -> list[Sent]:
    return story.of(Sent, lambda event: event.data == HEARTBEAT)


def _answers_to(story: Story, beat: Sent) -> list[Commanded]:
    """Return the commands that followed a heartbeat on its connection."""
    later = story.after(beat)
    return [each for each in later if isinstance(each, Commanded) and each.conn == beat.conn]


@client_case("connection/error-open", "smart.client.error-open", "consumer")
@pytest.mark.parametrize("code", sorted(error_codes.OUT_OF_TURN))
def test_error_open(client: Client, code: str) -> Observation:
    """A consumer whose FIN is answered with an error stays connected and answers heartbeats."""
    # ansq leaves what comes in one read with the error until more bytes come.
    again = After(AGAIN, (Beat(),))
    failed = once("FIN", Bytes(error_frame(code, "failed")), Beat(), again)
    story = client.play(
        Script("consumer", deliveries=(Delivery(),), rules=(failed,)), _answered_or_closed
    )
    error = error_sent(story)
    is_closed = error is not None and closed_by_client(story, error.conn)
    answers = bool(_answers_beats(story))
    # A log recorded by an earlier kit ends with the first answer.
    answered = answers and not story.has_expired()
    if not answers and not is_closed:
        return unless(story, "inconclusive:not-answered", note="no heartbeat was answered")
    value = "open" if answers and not is_closed else "closed"
    return unless(story, value, seen=_answered_or_closed(story) or answered)


def _answered_or_closed(story: Story) -> bool:
    """Return True once the client answered the second heartbeat, or closed the connection.

    The first one comes with the error: a client may answer it, and close the connection then.
    """
    error = error_sent(story)
    is_closed = error is not None and closed_by_client(story, error.conn)
    return is_closed or True in _answers_beats(story)


def _answers_beats(story: Story) -> list[bool]:
    """Return, for each answer after the error on its connection, if the second beat was sent.

    A command other than NOP counts after a heartbeat only, and FIN never: it may have been on its
    way when the error was sent.
    """
    beats, answers = 0, list[bool]()
    error = error_sent(story)
    for event in story.after(error) if error is not None else ():
        if error is None or event.conn != error.conn:
            continue
        if isinstance(event, Sent) and event.data == HEARTBEAT:
            beats += 1
        elif isinstance(event, Commanded) and (
            event.name == "NOP" or (beats and event.name != "FIN")
        ):
            answers.append(beats >= 2)
    return answers


@client_case("connection/reconnect/consumer", "smart.client-connection.reconnect", "consumer")
def test_consumer_reconnect(client: Client) -> Observation:
    """A consumer whose connection the node closes subscribes again."""
    # By then a client that polls as often as it is told has looked up a second time.
    rules = (once("FIN", After(POLLED_S, (Close(),))),)
    story = client.play(
        Script("consumer", deliveries=(Delivery(),), rules=rules),
        at_least(2, subscriptions),
        within=LONG,
    )
    again = len(subscriptions(story)) >= 2
    if not again and awaits_lookup(story):
        return unless(story, "unsupported", note=NEXT_LOOKUP)
    return unless(story, "reconnected" if again else "gave-up", seen=again)


@client_case("connection/reconnect/producer", "smart.client-connection.reconnect", "producer")
def test_producer_reconnect(client: Client) -> Observation:
    """A producer whose connection the node closes publishes again on a new connection."""
    rules = (once("PUBLISH", Close()),)
    story = client.play(
        Script("producer", publishes=MANY, rules=rules), _published_anew, within=LONG
    )
    again = _published_anew(story)
    return unless(story, "reconnected" if again else "gave-up", seen=again)


def _published_anew(story: Story) -> bool:
    return distinct(event.conn for event in publishes(story)) >= 2


@client_case(
    "connection/undisturbed", "smart.client-connection.undisturbed", "consumer", "partition"
)
def test_undisturbed(client: Client) -> Observation:
    """A consumer of two partitions goes on with one when the connection of the other is closed."""
    rules = (
        once("FIN", Close(), After(0.3, (Push((Delivery(b"later", partition=1),)),)), peer=NODE_1),
    )
    script = Script(
        "consumer",
        leaders={0: NODE_1, 1: NODE_2},
        deliveries=(Delivery(partition=0), Delivery(partition=1)),
        rules=rules,
    )
    story = client.play(script, _finished_later)
    other = {event.conn for event in finishes(story) if event.peer == NODE_2}
    value = "undisturbed" if len(other) == 1 else "disturbed"
    return shown(story, value, seen=_finished_later(story))


def _finished_later(story: Story) -> bool:
    return sum(event.peer == NODE_2 for event in finishes(story)) >= 2
