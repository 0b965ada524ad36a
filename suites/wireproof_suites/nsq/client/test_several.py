"""Several connections at once: what holds for the first one holds for each of them."""

from dataclasses import replace

from wireproof_kit.clients.events import Marked
from wireproof_kit.clients.observe import any_of, shown, unless
from wireproof_kit.clients.part import Role
from wireproof_kit.clients.story import Story
from wireproof_kit.nsq.clients.client import Client
from wireproof_kit.nsq.clients.events import ORDERED, Commanded, Sent
from wireproof_kit.nsq.clients.heartbeats import list_unanswered, rest_on_beat
from wireproof_kit.nsq.clients.identity import list_identities
from wireproof_kit.nsq.clients.peers import ANSWERED
from wireproof_kit.nsq.clients.script import (
    NODE_1,
    NODE_2,
    After,
    Beat,
    Delivery,
    Lead,
    Note,
    Request,
    Rule,
    Script,
    always,
    once,
)
from wireproof_kit.observation import Observation
from wireproof_spec.driver.lines import CLOSE
from wireproof_spec.nsq import names
from wireproof_spec.nsq.frame import FRAME_TYPE_MESSAGE as MESSAGE
from wireproof_suites.nsq.client.client_case import client_case
from wireproof_suites.nsq.client.seen import (
    REOPENING,
    Question,
    closed_by_client,
    commands,
    distinct,
    finishes,
    is_reopened,
    node_connections,
    play,
    play_beats,
    publishes,
    subscriptions,
)

END, GRACEFUL = "smart.client.end", "smart.client-connection.graceful-end"
HELD = "smart.client-connection.held-heartbeat"
DESIRED = "ext.client-header.desired-tag"
TWO = {0: NODE_1, 1: NODE_2}
ID = slice(10, 26)
"""The id in a message frame."""
ONE_NODE = {0: NODE_1, 1: NODE_1}
LONG = 15.0
BEATS, BEAT_S = 8, 0.2
KEPT = 0.4
"""Seconds after which a producer that keeps no connection has closed that of its first publish."""
HELD_MS = 1900
BEGIN_S, HELD_S, HELD_BEATS, MOST_UNANSWERED = 0.3, 0.3, 14, 4
TAG = "tagA"
ONE_USED = "the producer has published at one node alone, as it may"


def _beat(event: str, *, begin: float = 0.0, peer: str | None = None) -> Rule:
    """Return a rule for eight heartbeats on the connection of an event."""
    beats = tuple(After(begin + BEAT_S * number, (Beat(),)) for number in range(BEATS))
    return always(event, *beats) if peer is None else once(event, *beats, peer=peer)


def _is_said(event: object) -> bool:
    return isinstance(event, Commanded)


def _is_beat(event: object) -> bool:
    return isinstance(event, Sent) and event.data == names.HEARTBEAT


def _answers_each(story: Story) -> bool:
    """Return True if eight heartbeats were sent on each of two connections, and answered."""
    beats = [event.conn for event in story.of(Sent, _is_beat)]
    beaten = [conn for conn in set(beats) if beats.count(conn) >= BEATS]
    return len(beaten) >= len(TWO) and not list_unanswered(story)


@client_case("connection/heartbeat/each/consumer", "smart.client.heartbeat", "consumer", "lookup")
def test_consumer_heartbeats(client: Client) -> Observation:
    """A consumer answers eight heartbeats on each of its connections to two nodes."""
    script = Script("consumer", leaders=TWO, rules=(_beat("SUBSCRIBE"),))
    return play_beats(client, script, _answers_each)


@client_case(
    "connection/heartbeat/each/producer", "smart.client.heartbeat", "producer", "lookup-producer"
)
def test_producer_heartbeats(client: Client) -> Observation:
    """A producer answers eight heartbeats on each of its connections to two nodes."""
    over = After(KEPT + BEAT_S * (BEATS + 2), (Note(),))
    rules = (
        *(_beat("PUBLISH", begin=KEPT, peer=peer) for peer in (NODE_1, NODE_2)),
        *(once("PUBLISH", over, peer=peer) for peer in (NODE_1, NODE_2)),
    )
    script = Script("producer", leaders=TWO, publishes=len(TWO) * 2, rules=rules)
    story = client.play(script, any_of(_answers_each, _is_over))
    if _answers_each(story):
        return unless(story, "answered")
    if distinct(event.peer for event in publishes(story)) < len(TWO):
        return unless(story, "unsupported", note=ONE_USED)
    if any(closed_by_client(story, each.conn) for each in publishes(story)):
        note = "the producer closed a connection after its publish; it owes no answer there"
        return unless(story, "unsupported", note=note)
    return rest_on_beat(story, unless(story, "silent", seen=_is_over(story)))


def _is_over(story: Story) -> bool:
    """Return True if all heartbeats were sent at each node at which a producer has published."""
    used = distinct(event.peer for event in publishes(story))
    return len(story.of(Marked)) >= max(used, 1)


@client_case("connection/heartbeat/held", HELD, "consumer", "driver")
def test_held_heartbeats(client: Client) -> Observation:
    """A consumer answers heartbeats while its handlers hold several messages."""
    # Clients ask for more messages with the first one or its FIN: later all are held at once.
    beats = tuple(After(BEGIN_S + HELD_S * number, (Beat(),)) for number in range(HELD_BEATS))
    script = Script(
        "consumer",
        deliveries=tuple(Delivery(b"%d" % number) for number in range(6)),
        handler="hold",
        consume={"hold_ms": HELD_MS},
        rules=(once("RDY", *beats),),
    )
    ends: dict[str, Question] = {"late": _is_late, "answered": _has_answered_held}
    story = client.play(script, any_of(*ends.values()), within=LONG)
    is_well = _has_answered_held(story) and not _is_late(story)
    return rest_on_beat(story, unless(story, "answered" if is_well else "late", seen=is_well))


def _is_late(story: Story) -> bool:
    """Return True if four heartbeats came on a connection without any command between them."""
    run: dict[str, int] = {}
    for event in story.events:
        if _is_beat(event):
            run[event.conn] = run.get(event.conn, 0) + 1
        elif _is_said(event):
            run[event.conn] = 0
        if run.get(event.conn, 0) >= MOST_UNANSWERED:
            return True
    return False


def _has_answered_held(story: Story) -> bool:
    return len(story.of(Sent, _is_beat)) >= HELD_BEATS and not list_unanswered(story)


@client_case("consume/finish/each", "smart.client-consume.no-late-finish", "consumer", "lookup")
def test_finish_each(client: Client) -> Observation:
    """A consumer finishes each message on the connection on which it came."""
    deliveries = tuple(Delivery(partition=number) for number in (*TWO, *TWO))
    story = client.play(
        Script("consumer", leaders=TWO, deliveries=deliveries),
        lambda story: len(finishes(story)) >= len(deliveries),
    )
    came = {
        (event.conn, event.data[ID]) for event in story.of(Sent) if event.frame_type == MESSAGE
    }
    sent = [(event.conn, event.message_id) for event in finishes(story)]
    value = "each" if set(sent) <= came else "not-each"
    return shown(story, value, seen=len(sent) >= len(deliveries))


@client_case("connection/end/each", END, "consumer", "lookup", "driver")
def test_consumer_end(client: Client) -> Observation:
    """A consumer of two nodes that is stopped by its user closes both connections."""
    return play(client, _end_script("consumer"), {"closed": _all_closed}, "kept")


@client_case("connection/end/each/producer", END, "producer", "lookup-producer", "driver")
def test_producer_end(client: Client) -> Observation:
    """A producer at two nodes that is stopped by its user closes both connections."""
    return play(client, _end_script("producer"), {"closed": _all_closed}, "kept")


@client_case(
    "connection/end/each/cls",
    GRACEFUL,
    "consumer",
    "lookup",
    "driver",
)
def test_graceful_end(client: Client) -> Observation:
    """A consumer of two nodes that is stopped by its user sends CLS on both connections."""
    story = client.play(_end_script("consumer"), _all_closed)
    left = {each.conn for each in subscriptions(story)} - {
        each.conn for each in commands(story, "CLS")
    }
    return unless(story, "no-cls" if left else "cls", seen=_all_closed(story))


def _end_script(role: Role) -> Script:
    """Return a script in which the user ends a client that has worked at both nodes."""
    if role == "producer":
        # The driver's lines are its greeting, then the answers to open and to each publish.
        rules = (once(ANSWERED, Request(CLOSE), at=2 + 2 * len(TWO)),)
        return Script(role, leaders=TWO, publishes=2 * len(TWO), rules=rules)
    deliveries = tuple(Delivery(partition=number) for number in TWO)
    return Script(
        role, leaders=TWO, deliveries=deliveries, rules=(once("FIN", Request(CLOSE), at=2),)
    )


def _all_closed(story: Story) -> bool:
    begun = node_connections(story)
    worked = finishes(story) or publishes(story)
    return bool(begun and worked) and not any(story.is_open(each.conn) for each in begun)


@client_case(
    "lookup/follow/consumer/second",
    "smart.client.lookup-follow",
    "consumer",
    "lookup",
    "partition",
    "refresh-consumer",
)
def test_consumer_follow(client: Client) -> Observation:
    """A consumer follows the leader of its second partition to another node."""
    move = Rule("SUBSCRIBE", (Lead({1: NODE_2}),), partition=1, last=1)
    return _follow(client, Script("consumer", leaders=ONE_NODE, rules=(move,)))


@client_case(
    "lookup/follow/consumer/added",
    "smart.client.lookup-follow",
    "consumer",
    "lookup",
    "partition",
    "refresh-consumer",
)
def test_consumer_added(client: Client) -> Observation:
    """A consumer subscribes to a partition that only a later lookup names."""
    rules = (
        Rule("start", (Lead({1: None}),)),
        Rule("SUBSCRIBE", (Lead({1: NODE_2}),), last=1),
    )
    return _follow(client, Script("consumer", leaders=TWO, rules=rules))


@client_case(
    "lookup/follow/producer/second",
    "smart.client.lookup-follow",
    "producer",
    "spread",
    "partition",
    "refresh-producer",
)
def test_producer_follow(client: Client) -> Observation:
    """A producer follows the leader of its second partition to another node."""
    keys = tuple(f"key-{number}" for number in range(8))
    # By then both lookup servers have been asked, and every sharding id was used.
    move = once("PUBLISH", Lead({1: NODE_2}), at=2 * len(keys))
    script = Script(
        "producer", leaders=ONE_NODE, ordered=True, keys=keys, publishes=1000, rules=(move,)
    )
    return _follow(client, script)


def _follow(client: Client, script: Script) -> Observation:
    ends: dict[str, Question] = {"followed": _works_at_second}
    return play(client, script, ends, "stayed", within=LONG)


def _works_at_second(story: Story) -> bool:
    work = (*publishes(story), *subscriptions(story))
    return any(event.peer == NODE_2 and event.partition == 1 for event in work)


@client_case("ext/identify/each", "ext.client.identify", "consumer", "ext-consumer", "partition")
def test_identify_each(client: Client) -> Observation:
    """A consumer of an ext topic says extend_support on each connection, also after a loss."""
    return _identify(client, Script("consumer", extend=True), names.EXTEND_SUPPORT, value=True)


@client_case(
    "ext/tag/each",
    DESIRED,
    "consumer",
    "ext-consumer",
    "partition",
    "driver",
)
def test_tag_each(client: Client) -> Observation:
    """A consumer says which tag it desires on each connection, also after a loss."""
    script = Script("consumer", extend=True, consume={"tag": TAG}, settings={"tag": TAG})
    return _identify(client, script, names.DESIRED_TAG, value=TAG)


def _identify(client: Client, script: Script, name: str, *, value: str | bool) -> Observation:
    script = replace(script, leaders=TWO, rules=REOPENING)
    story = client.play(script, is_reopened)
    is_each = all(each.get(name) == value for each in list_identities(story))
    return shown(story, "each" if is_each else "not-each", seen=bool(subscriptions(story)))


@client_case("order/each/again", "smart.client.order-each", "consumer", "order")
def test_order_again(client: Client) -> Observation:
    """An ordered consumer subscribes in order again after a loss, to the same partitions."""
    script = Script("consumer", ordered=True, leaders=TWO, rules=REOPENING)
    story = client.play(script, is_reopened)
    sent = subscriptions(story)
    right = all(each.name in ORDERED and each.partition in TWO for each in sent)
    return shown(story, "each" if right else "not-each", seen=is_reopened(story) and bool(sent))
