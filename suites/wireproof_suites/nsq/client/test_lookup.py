"""Finding nodes: what a client asks lookup servers, and what it takes from their answers."""

from collections.abc import Iterable

import pytest

from wireproof_kit.clients.events import Connected, Greeted
from wireproof_kit.clients.observe import any_of, if_came, shown, unless
from wireproof_kit.clients.part import Role
from wireproof_kit.clients.story import Story
from wireproof_kit.nsq.clients.client import LOOKUP_INTERVAL_MS, Client
from wireproof_kit.nsq.clients.events import Requested
from wireproof_kit.nsq.clients.script import (
    LOOKUP_1,
    LOOKUP_2,
    NODE_1,
    NODE_2,
    Lead,
    Rule,
    Script,
    Shape,
)
from wireproof_kit.observation import Observation
from wireproof_spec.nsq.names import V1_ACCEPT
from wireproof_suites.nsq.client.client_case import client_case
from wireproof_suites.nsq.client.seen import (
    closed_by_client,
    comes_before,
    distinct,
    lookups,
    node_connections,
    play,
    publishes,
    requests,
    subscriptions,
)

TWO = {0: NODE_1, 1: NODE_2}
SHAPES: tuple[Shape, ...] = ("redesigned", "original")
MANY = 1000
POLLS, ROUNDS = 4, 3
INTERVAL_S = LOOKUP_INTERVAL_MS / 1000
ROUND_S = INTERVAL_S / 5
"""Seconds from the begin of a round of lookups for the requests that belong to it."""
ONE_ROUND = "the client looked up once, and without a driver nobody sets its interval"
LONG = 15.0
"""Seconds for a case that watches several rounds of lookups."""


def has_connected(story: Story) -> bool:
    return bool(node_connections(story))


def has_looked_up(story: Story) -> bool:
    return bool(lookups(story))


def works(story: Story) -> bool:
    return bool(publishes(story) or subscriptions(story))


@client_case("lookup/first/producer", "smart.client.lookup-only", "producer", "lookup-producer")
def test_producer_first(client: Client) -> Observation:
    """A producer asks a lookup server before it connects to a node."""
    return _first(client, "producer")


@client_case("lookup/first/consumer", "smart.client.lookup-only", "consumer", "lookup")
def test_consumer_first(client: Client) -> Observation:
    """A consumer asks a lookup server before it connects to a node."""
    return _first(client, "consumer")


def _first(client: Client, role: Role) -> Observation:
    story = client.play(Script(role, publishes=1), has_connected)
    asked, connected = story.first(Requested), next(iter(node_connections(story)), None)
    value = "lookup-first" if comes_before(asked, connected, story) else "node-first"
    return shown(story, value, seen=connected is not None)


@client_case(
    "lookup/access/producer",
    "smart.client.lookup-access",
    "producer",
    "lookup-producer",
    "partition",
)
def test_producer_access(client: Client) -> Observation:
    """A producer looks up its topic with access=w and metainfo=true."""
    return _access(client, "producer")


@client_case(
    "lookup/access/consumer", "smart.client.lookup-access", "consumer", "lookup", "partition"
)
def test_consumer_access(client: Client) -> Observation:
    """A consumer looks up its topic with access=r."""
    return _access(client, "consumer")


def _access(client: Client, role: Role) -> Observation:
    story = _play_rounds(client, role)
    asked = lookups(story)
    access = "+".join(sorted({each.value("access") or "none" for each in asked})) or "none"
    has_meta = bool(asked) and all(each.value("metainfo") == "true" for each in asked)
    meta = "metainfo" if has_meta else "no-metainfo"
    return if_came(story, f"access:{access},{meta}", came=bool(asked))


def _play_rounds(client: Client, role: Role) -> Story:
    """Watch several rounds of lookups, or as many as come: a later one may ask another way."""
    return client.play(
        Script(role, publishes=MANY), lambda story: len(_list_rounds(story)) >= ROUNDS
    )


@client_case("lookup/shape/consumer", "smart.client.lookup-shapes", "consumer", "lookup")
@pytest.mark.parametrize("shape", SHAPES)
def test_consumer_shape(client: Client, shape: Shape) -> Observation:
    """A consumer finds the node in a lookup answer of the redesigned and of the original NSQ."""
    script = Script("consumer", shape=shape)
    return play(client, script, {"found": works}, "not-found")


@client_case("lookup/shape/producer", "smart.client.lookup-shapes", "producer", "lookup-producer")
@pytest.mark.parametrize("shape", SHAPES)
def test_producer_shape(client: Client, shape: Shape) -> Observation:
    """A producer finds the node in a lookup answer of the redesigned and of the original NSQ."""
    script = Script("producer", shape=shape, publishes=1)
    return play(client, script, {"found": works}, "not-found")


@client_case("lookup/original/consumer", "smart.client.original", "consumer", "lookup")
def test_consumer_original(client: Client) -> Observation:
    """A consumer sends no partition to a node that a lookup answer without partitions names."""
    return _original(client, "consumer")


@client_case("lookup/original/producer", "smart.client.original", "producer", "lookup-producer")
def test_producer_original(client: Client) -> Observation:
    """A producer sends no partition to a node that a lookup answer without partitions names."""
    return _original(client, "producer")


def _original(client: Client, role: Role) -> Observation:
    story = client.play(Script(role, shape="original", publishes=1), works)
    sent = [*publishes(story), *subscriptions(story)]
    named = any(event.partition is not None for event in sent)
    return shown(story, "partition" if named else "no-partition", seen=bool(sent))


@client_case("lookup/form", "smart.client-lookup.form", "lookup")
@pytest.mark.parametrize("v1", [True, False], ids=["v1", "envelope"])
@pytest.mark.parametrize("shape", SHAPES)
def test_form(client: Client, shape: Shape, *, v1: bool) -> Observation:
    """A client reads lookup answers with and without envelope, whichever form it asked for."""
    script = Script(client.role, shape=shape, v1=v1, publishes=1)
    return play(client, script, {"found": works}, "not-found")


@client_case("lookup/unknown", "smart.client-lookup.unknown", "lookup")
@pytest.mark.parametrize("shape", SHAPES)
def test_unknown(client: Client, shape: Shape) -> Observation:
    """A client uses a lookup answer whose nodes and meta have a member that it does not know."""
    script = Script(client.role, shape=shape, unknown=True, publishes=1)
    return play(client, script, {"found": works}, "not-found")


@client_case("lookup/accept", "smart.client-lookup.accept", "lookup")
def test_accept(client: Client) -> Observation:
    """A client that wants version 1.0 lookup answers sends the exact documented Accept header."""
    story = _play_rounds(client, client.role)
    asked = lookups(story)
    accepts = [each.headers.get("accept", "") for each in asked]
    forms = [each for each in accepts if "nsq" in each]
    other = next((each for each in forms if each != V1_ACCEPT), None)
    value = "other" if other is not None else "v1" if forms else "not-asked"
    note = other or next(iter([*forms, *accepts]), "")
    return shown(story, value, seen=bool(asked), note=note)


@client_case("lookup/topic", "smart.client-lookup.topic", "lookup")
def test_topic(client: Client) -> Observation:
    """A client looks up the topic that its user named, with a GET request, in each round."""
    story = _play_rounds(client, client.role)
    asked = lookups(story)
    # A program may have further topics of its own. Of the last round not all may have come.
    last = _begins(asked)[-2:][:1]
    topic = story.find_given("topic")
    named = [each for each in asked if each.value("topic") == topic and each.at >= min(last)]
    right = bool(named) and all(each.value("topic") for each in asked)
    method = "+".join(sorted({each.method for each in asked})) or "none"
    return if_came(story, f"{method},{'topic' if right else 'other'}", came=bool(asked))


@client_case("lookup/listlookup/first", "smart.client.listlookup-first", "lookup", "partition")
def test_listlookup_first(client: Client) -> Observation:
    """A client requests /listlookup from its configured lookup server before its first lookup."""
    story = client.play(Script(client.role, publishes=1), has_looked_up)
    listed = next(iter(requests(story, "/listlookup")), None)
    looked_up = next(iter(lookups(story)), None)
    value = "listed-first" if comes_before(listed, looked_up, story) else "not-asked"
    return shown(story, value, seen=looked_up is not None)


@client_case(
    "lookup/listlookup/all", "smart.client-lookup.listed-form", "lookup", "partition", "refresh"
)
def test_listlookup_all(client: Client) -> Observation:
    """A client also sends lookups to a lookup server that it knows only from /listlookup."""
    story = client.play(Script(client.role, publishes=MANY), _asks_all, within=LONG)
    return unless(
        story, "asked" if lookups(story, LOOKUP_2) else "not-asked", seen=_asks_all(story)
    )


@client_case(
    "lookup/listlookup/again", "smart.client-lookup.repeated", "lookup", "partition", "refresh"
)
def test_listlookup_again(client: Client) -> Observation:
    """A client requests /listlookup again when it repeats its lookups."""
    script = Script(client.role, publishes=MANY, listed=(LOOKUP_1,))
    story = client.play(script, any_of(_lists_again, _looks_up_often), within=LONG)
    seen = _lists_again(story) or _looks_up_often(story)
    return unless(story, "repeated" if _lists_again(story) else "listed-once", seen=seen)


def _lists_again(story: Story) -> bool:
    """Return True if /listlookup was requested after a lookup."""
    looked_up = next(iter(lookups(story)), None)
    listed = requests(story, "/listlookup")
    return looked_up is not None and any(each.at > looked_up.at for each in listed)


def _looks_up_often(story: Story) -> bool:
    return len(_list_rounds(story)) > POLLS


def _asks_all(story: Story) -> bool:
    """Return True once the second lookup server was asked, or the first one again and again."""
    return bool(lookups(story, LOOKUP_2)) or len(lookups(story, LOOKUP_1)) >= POLLS


@client_case(
    "lookup/merge/consumer",
    "smart.client.lookup-all",
    "consumer",
    "lookup",
    "partition",
    "refresh-consumer",
)
def test_consumer_merge(client: Client) -> Observation:
    """A consumer stays subscribed to both partitions if each lookup server names only one.

    A client that follows the latest answer alone is subscribed to each in turn.
    """
    # Both are configured: no text says what the answer to /listlookup looks like.
    script = Script(
        "consumer",
        leaders=TWO,
        known={LOOKUP_1: {0: NODE_1}, LOOKUP_2: {1: NODE_2}},
        configured=(LOOKUP_1, LOOKUP_2),
    )
    story = client.play(script, _asked_in_rounds, within=LONG)
    is_merged = _is_subscribed_to_both(story)
    return unless(
        story,
        "merged" if is_merged else "one-answer",
        seen=is_merged or _asked_in_rounds(story),
    )


def _is_subscribed_to_both(story: Story) -> bool:
    """Return True if subscriptions to both partitions live at the end."""
    living = [event for event in subscriptions(story) if story.is_open(event.conn)]
    return distinct(event.partition for event in living) == len(TWO)


def _asked_in_rounds(story: Story) -> bool:
    return all(len(lookups(story, peer)) >= POLLS for peer in (LOOKUP_1, LOOKUP_2))


@client_case("lookup/interval", "smart.client.lookup-interval", "lookup")
def test_interval(client: Client) -> Observation:
    """A client repeats its lookups at the interval in its configuration, here 1 s."""
    script = Script(client.role, publishes=1, listed=(LOOKUP_1,))
    story = client.play(script, lambda story: len(_list_rounds(story)) > POLLS, within=LONG)
    begins = _list_rounds(story)
    if len(begins) < 2 and story.first(Greeted) is None:
        return unless(story, "unsupported", note=ONE_ROUND)
    mean = (begins[-1] - begins[0]) / max(len(begins) - 1, 1) if begins else 0.0
    note = f"every {mean:.2f} s on average" if len(begins) > 1 else "one round of lookups"
    if mean > 2 * INTERVAL_S or len(begins) < 2:
        return unless(story, "not-at-interval", seen=False, note=note)
    value = "at-interval" if mean >= INTERVAL_S / 2 else "not-at-interval"
    return shown(story, value, seen=len(begins) > POLLS, note=note)


def _list_rounds(story: Story) -> list[float]:
    """Return when each round of lookups began."""
    return _begins(lookups(story))


def _begins(asked: Iterable[Requested]) -> list[float]:
    """Return when each round began to which lookups belong.

    A client may ask one server twice in a round: by its configured and by its listed address.
    """
    found: list[float] = []
    for each in asked:
        if not found or each.at - found[-1] >= ROUND_S:
            found.append(each.at)
    return found


@client_case(
    "lookup/follow/consumer",
    "smart.client.lookup-follow",
    "consumer",
    "lookup",
    "refresh-consumer",
)
def test_consumer_follow(client: Client) -> Observation:
    """A consumer subscribes at the new leader of its partition when a later lookup names one."""
    story = client.play(_move_script("consumer"), _is_subscribed_anew, within=LONG)
    return unless(
        story,
        "followed" if _is_subscribed_anew(story) else "stayed",
        seen=_is_subscribed_anew(story),
    )


@client_case(
    "lookup/follow/producer",
    "smart.client.lookup-follow",
    "producer",
    "lookup-producer",
    "refresh-producer",
)
def test_producer_follow(client: Client) -> Observation:
    """A producer publishes to the new leader of the partition when a later lookup names one."""
    story = client.play(_move_script("producer"), _publishes_anew, within=LONG)
    return unless(
        story, "followed" if _publishes_anew(story) else "stayed", seen=_publishes_anew(story)
    )


@client_case(
    "lookup/let-go", "smart.client.lookup-leave", "consumer", "lookup", "refresh-consumer"
)
def test_let_go(client: Client) -> Observation:
    """A consumer closes its connection to a leader that lookups no longer name."""
    story = client.play(_move_script("consumer"), any_of(_has_let_go, _looks_on), within=LONG)
    seen = _has_let_go(story) or _looks_on(story)
    return unless(story, "closed" if _has_let_go(story) else "kept", seen=seen)


def _move_script(role: Role) -> Script:
    """Return a script in which the leader moves to the other node.

    It moves when a consumer has subscribed at the old leader, or after a producer's second lookup.
    """
    # Both lookup servers may be asked before a consumer subscribes: it must have what to let go.
    event, number = ("SUBSCRIBE", 1) if role == "consumer" else ("lookup", 2)
    move = Rule(event, (Lead({0: NODE_2}),), first=number, last=number)
    return Script(role, publishes=MANY, rules=(move,))


def _is_subscribed_anew(story: Story) -> bool:
    return any(event.peer == NODE_2 for event in subscriptions(story))


def _publishes_anew(story: Story) -> bool:
    return any(event.peer == NODE_2 for event in publishes(story))


def _has_let_go(story: Story) -> bool:
    old = story.of(Connected, lambda event: event.peer == NODE_1)
    return _is_subscribed_anew(story) and all(closed_by_client(story, each.conn) for each in old)


def _looks_on(story: Story) -> bool:
    """Return True if lookups went on after the client had subscribed at the new leader."""
    anew = next((each for each in subscriptions(story) if each.peer == NODE_2), None)
    if anew is None:
        return False
    later = story.after(anew)
    return sum(isinstance(each, Requested) and each.path == "/lookup" for each in later) >= POLLS
