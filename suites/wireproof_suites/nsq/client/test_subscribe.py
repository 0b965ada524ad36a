"""Subscriptions: one a partition, on a connection of its own; what follows OK or an error."""

import pytest

from wireproof_kit.clients.observe import failures, if_came, list_told, shown, unless
from wireproof_kit.clients.story import Story
from wireproof_kit.nsq.clients.client import Client
from wireproof_kit.nsq.clients.events import SUBSCRIPTIONS, Sent
from wireproof_kit.nsq.clients.script import (
    LOOKUP_1,
    NODE_1,
    NODE_2,
    After,
    Beat,
    Bytes,
    Delay,
    Delivery,
    Lead,
    Rule,
    Script,
    Silence,
    always,
    once,
)
from wireproof_kit.observation import Observation
from wireproof_spec.nsq import error_codes
from wireproof_spec.nsq.frame import error_frame
from wireproof_suites.nsq.client.client_case import client_case
from wireproof_suites.nsq.client.seen import (
    SELDOM,
    Question,
    answers_after,
    closed_by_client,
    comes_before,
    commands,
    distinct,
    end_of,
    error_sent,
    finishes,
    has_looked_again,
    list_ready,
    move_and_back,
    not_followed,
    play,
    requests,
    subscriptions,
)

FOUR = {0: NODE_1, 1: NODE_2, 2: NODE_1, 3: NODE_2}
LONG = 12.0
KEPT_S = 2.0
CODES = [
    error_codes.E_INVALID,
    error_codes.E_BAD_TOPIC,
    error_codes.E_BAD_CHANNEL,
    error_codes.E_SUB_ORDER_IS_MUST,
]
MOST = 3
MOVED = [error_codes.E_FAILED_ON_NOT_LEADER, error_codes.E_TOPIC_NOT_EXIST]


def _finishes_all(story: Story) -> bool:
    """Return True once a message of every partition was finished: by then all SUBs are sent."""
    return distinct(_partition_of(story, each.conn) for each in finishes(story)) == len(FOUR)


def _subscribes_all(story: Story) -> bool:
    """Return True once every partition is subscribed to; RDY may follow in turn."""
    return distinct(event.partition for event in subscriptions(story)) == len(FOUR)


def _partition_of(story: Story, conn: str) -> int | None:
    own = [event for event in subscriptions(story) if event.conn == conn]
    return own[-1].partition if own else None


def _four() -> Script:
    return Script(
        "consumer",
        leaders=FOUR,
        deliveries=tuple(Delivery(b"%d" % number, partition=number) for number in FOUR),
    )


@client_case("subscribe/each", "smart.client.subscribe-each", "consumer", "partition")
def test_each(client: Client) -> Observation:
    """A consumer subscribes to each of four partitions on two nodes, once."""
    story = client.play(_four(), _finishes_all)
    numbers = sorted(event.partition or 0 for event in subscriptions(story))
    value = "each-once" if numbers == sorted(FOUR) else "not-each-once"
    return unless(story, value, seen=_finishes_all(story), note=f"subscribed to {numbers}")


@client_case("subscribe/connections", "smart.client.partition-connection", "consumer", "partition")
def test_connections(client: Client) -> Observation:
    """A consumer opens a separate TCP connection for each of four partitions."""
    story = client.play(_four(), _subscribes_all)
    used = distinct(event.conn for event in subscriptions(story))
    value = "one-each" if used == len(subscriptions(story)) else "shared"
    return shown(story, value, seen=_subscribes_all(story))


@client_case("subscribe/same-node", "smart.client-connection.same-node", "consumer", "partition")
def test_same_node(client: Client) -> Observation:
    """A consumer subscribes to both partitions of one node."""
    script = Script("consumer", leaders={0: NODE_1, 1: NODE_1})
    both: dict[str, Question] = {
        "both": lambda story: distinct(e.partition for e in subscriptions(story)) == 2
    }
    return play(client, script, both, "one")


@client_case("subscribe/all-nodes", "smart.client.consume-all", "consumer", "lookup")
def test_all_nodes(client: Client) -> Observation:
    """A consumer subscribes at every node that the lookup names."""
    script = Script("consumer", leaders={0: NODE_1, 1: NODE_2})
    every: dict[str, Question] = {
        "all": lambda story: distinct(e.peer for e in subscriptions(story)) == 2
    }
    return play(client, script, every, "one")


@client_case("subscribe/grammar", "smart.client-send.subscribe", "consumer", "partition")
def test_grammar(client: Client) -> Observation:
    """A consumer sends SUB with topic, channel and partition."""
    story = client.play(Script("consumer"), lambda story: bool(subscriptions(story)))
    sent = next(iter(subscriptions(story)), None)
    due = (story.find_given("topic"), story.find_given("channel"), "0")
    value = "as-published" if sent and sent.words[:3] == due else "other"
    line = sent.line.decode("latin-1") if sent else ""
    return if_came(story, value, came=sent is not None, note=line)


@client_case("subscribe/command", "smart.client-trace.no-command", "consumer", "trace-consumer")
def test_command(client: Client) -> Observation:
    """A consumer that traces subscribes with SUB or SUB_ORDER, not with a command of its own."""
    script = Script("consumer", settings={"trace": "1"}, consume={"trace": True})
    story = client.play(script, lambda story: bool(subscriptions(story)))
    sent = next(iter(subscriptions(story)), None)
    return unless(story, sent.name if sent else "none", seen=sent is not None)


@client_case("subscribe/ready", "smart.client.ready", "consumer", "partition")
def test_ready(client: Client) -> Observation:
    """A consumer sends RDY after its SUB was answered OK, not before."""
    script = Script("consumer", rules=(once("SUBSCRIBE", Delay(0.7)),))
    story = client.play(script, lambda story: bool(commands(story, "RDY")))
    ready = next(iter(commands(story, "RDY")), None)
    answer = story.first(Sent, lambda event: event.data == b"OK" and _is_on_sub(story, event))
    value = "before-ok" if comes_before(ready, answer, story) else "after-ok"
    return shown(story, value, seen=ready is not None)


def _is_on_sub(story: Story, event: Sent) -> bool:
    subscribed = [each for each in subscriptions(story) if each.conn == event.conn]
    return bool(subscribed) and story.index(subscribed[0]) < story.index(event)


@client_case("subscribe/ready/first", "smart.client-connection.first-ready", "consumer")
def test_first_ready(client: Client) -> Observation:
    """A consumer's first RDY that asks for messages is 1."""
    story = client.play(Script("consumer"), lambda story: bool(_list_asking(story)))
    # A connection begins with RDY 0: to say so once more changes nothing.
    counts = _list_asking(story)
    value = "rdy:1" if counts[:1] == [1] else "rdy:other"
    return if_came(story, value, came=bool(counts), note=f"RDY {counts[:1]}")


def _list_asking(story: Story) -> list[int]:
    return [count for _, count in list_ready(story) if count]


@client_case("subscribe/ready/sum", "smart.client.configuration", "consumer", "lookup", "driver")
def test_ready_sum(client: Client) -> Observation:
    """The RDY counts of a consumer's two connections do not exceed a max_in_flight of 3."""
    script = Script(
        "consumer",
        leaders={0: NODE_1, 1: NODE_2},
        deliveries=(Delivery(), Delivery(partition=1)),
        consume={"max_in_flight": MOST},
        rules=(once("RDY", After(1.5, (Beat(),)), peer=NODE_2),),
    )
    is_over = answers_after(1.5, "RDY")
    story = client.play(script, is_over)
    counts = dict(list_ready(story))
    value = "within" if sum(counts.values()) <= MOST else "exceeded"
    return shown(story, value, seen=is_over(story), note=f"RDY {counts}")


@client_case("subscribe/error/closed", "smart.client.subscribe-error", "consumer")
@pytest.mark.parametrize("code", CODES)
def test_error_closed(client: Client, code: str) -> Observation:
    """A consumer whose SUB is refused closes the connection, whatever the error code."""
    ends = {"closed": _has_closed, "kept": _is_kept}
    return play(client, Script("consumer", rules=_list_refusing(code)), ends, "kept")


@client_case(
    "subscribe/error/told", "smart.client-connection.subscribe-told", "consumer", "driver"
)
@pytest.mark.parametrize("code", CODES)
def test_error_told(client: Client, code: str) -> Observation:
    """A consumer reports to its user that its SUB was refused, whatever the error code."""
    ends = {"told": _is_told, "not-told": _is_kept}
    return play(client, Script("consumer", rules=_list_refusing(code)), ends, "not-told")


def _list_refusing(code: str) -> tuple[Rule, ...]:
    """Return rules that refuse a SUB and ask, with a heartbeat later, whether anybody is there."""
    refused = Bytes(error_frame(code, "refused"))
    return (always("SUBSCRIBE", Silence(), refused, After(KEPT_S, (Beat(),))),)


def _has_closed(story: Story) -> bool:
    error = error_sent(story)
    return error is not None and closed_by_client(story, error.conn)


_is_kept = answers_after(KEPT_S, *SUBSCRIPTIONS)


def _is_told(story: Story) -> bool:
    return bool(failures(story, "consume") or list_told(story, "error"))


@client_case("subscribe/moved", "smart.client.error-refresh", "consumer", "lookup")
@pytest.mark.parametrize("text", ["", "no such partition here"], ids=["bare", "with-text"])
@pytest.mark.parametrize("code", MOVED)
def test_moved(client: Client, code: str, text: str) -> Observation:
    """A consumer refused by a node that does not lead looks up again and subscribes elsewhere."""
    refused = Bytes(error_frame(code, text))
    rules = (always("SUBSCRIBE", Silence(), Lead({0: NODE_2}), refused, peer=NODE_1),)
    ends: dict[str, Question] = {
        "moved": lambda story: any(e.peer == NODE_2 for e in subscriptions(story))
    }
    return play(client, Script("consumer", rules=rules), ends, "stayed", within=LONG)


@client_case(
    "subscribe/moved/refreshed", "smart.client-connection.error-lookup", "consumer", "lookup"
)
def test_moved_refreshed(client: Client) -> Observation:
    """A consumer looks up its topic again before it subscribes at the new leader."""
    refused = Bytes(error_frame(MOVED[0]))
    rules = (always("SUBSCRIBE", Silence(), Lead({0: NODE_2}), refused, peer=NODE_1),)
    story = client.play(
        Script("consumer", rules=rules),
        lambda story: any(event.peer == NODE_2 for event in subscriptions(story)),
        within=LONG,
    )
    error = error_sent(story)
    again = error is not None and any(
        story.index(each) > story.index(error) for each in requests(story, "/lookup")
    )
    seen = any(event.peer == NODE_2 for event in subscriptions(story))
    return shown(story, "looked-up" if again else "guessed", seen=seen)


@client_case(
    "subscribe/moved/as-without-text",
    "smart.client-connection.error-code",
    "consumer",
    "lookup",
    "partition",
    "driver",
)
def test_moved_as_without_text(client: Client) -> Observation:
    """A consumer that looks up again after an error's code does so if a text follows the code."""
    rules = move_and_back("SUBSCRIBE", stays=0)
    # With one lookup server, a further lookup is no part of the round before.
    script = Script("consumer", rules=rules, settings=SELDOM, listed=(LOOKUP_1,))
    story = client.play(script, has_looked_again, within=LONG)
    # go-nsq keeps the connection to the first node, and subscribes no second time there.
    ends: dict[str, Question] = {"looked-up": has_looked_again}
    return not_followed(story, subscriptions(story)) or end_of(story, ends, "did-not")
