"""Lookup servers that fail, lie, answer nothing or name nobody."""

from dataclasses import replace

import pytest

from wireproof_kit.clients.events import Connected, Ended, Marked, Measured
from wireproof_kit.clients.observe import any_of, failures, is_marked, shown, unless
from wireproof_kit.clients.part import Role
from wireproof_kit.clients.story import STARVED_SHARE, Story
from wireproof_kit.nsq.clients.client import Client
from wireproof_kit.nsq.clients.peers import ANSWERED
from wireproof_kit.nsq.clients.script import (
    LOOKUP_1,
    LOOKUP_2,
    NODE_1,
    NODE_2,
    Act,
    After,
    Close,
    Down,
    Note,
    Respond,
    Rule,
    Script,
    Silence,
    Up,
    always,
    once,
)
from wireproof_kit.observation import Observation
from wireproof_suites.nsq.client.client_case import client_case
from wireproof_suites.nsq.client.seen import (
    MOST_CALM,
    ONE_ROUND,
    Question,
    end_of,
    is_success,
    looks_up_once,
    lookups,
    most_calm,
    node_connections,
    play,
    publishes,
    subscriptions,
)

MANY = 1000
LONG = 15.0
TIGHT = 0.7
"""A share of its time for which a client that waits between two attempts does not run."""
KIT_SHARE = 0.5
IDLE = 0.05
"""Clients that wait run for 1 % of the time; a loop got 18 % beside forty other programs."""
NOT_JSON = b"<html>not JSON</html>"
DEEP = b"[" * 100_000
FAILURES: dict[str, Act] = {
    "404": Respond(404),
    "500": Respond(500),
    "not-json": Respond(200, NOT_JSON),
    "closed": Close(),
    "silence": Silence(),
}
REFUSED = "refused"
ONLY_S = 3.0
"""Seconds of lookups in vain: in a client with a node to fall back on, time to do so."""
MOST_LOOKUPS = 30
"""The example client asks a failing server in every ninth round at least."""
NOBODY: dict[str, Act] = {
    "null": Respond(200, b'{"channels": [], "partitions": null, "producers": null}'),
    "empty": Respond(200, b'{"channels": [], "partitions": {}, "producers": []}'),
    "404": Respond(404),
}
BROKEN: dict[str, Act] = {
    "not-json": Respond(200, NOT_JSON),
    "cut": Respond(200, b'{"channels": ["c"], "partitions": {"0": {"broadcast_ad'),
    "deep": Respond(200, DEEP),
    "types": Respond(200, b'{"partitions": {"zero": {"tcp_port": "x"}}, "producers": {"a": 1}}'),
    "port": Respond(
        200,
        b'{"channels": [], "partitions": {"0": {"broadcast_address": "127.0.0.1", '
        b'"tcp_port": 4294967296}}, "producers": [], "meta": {"partition_num": 1}}',
    ),
}


def works(story: Story) -> bool:
    return bool(publishes(story) or subscriptions(story))


def works_by_lookup(story: Story) -> bool:
    """Return True once a node has accepted a publish or a subscription.

    The node in the client's configuration leads nothing: the client has found another by lookup.
    """
    used = {each.conn: story.index(each) for each in [*publishes(story), *subscriptions(story)]}
    return any(
        is_success(event) and place > used.get(event.conn, place)
        for place, event in enumerate(story.events)
    )


def has_recovered(story: Story) -> bool:
    return works_by_lookup(story) or story.first(Ended) is not None


@client_case("lookup/listlookup/failure", "smart.client.listlookup-failure", "lookup", "partition")
@pytest.mark.parametrize("failure", [*FAILURES, REFUSED])
def test_listlookup_failure(client: Client, failure: str) -> Observation:
    """A client whose /listlookup request fails goes on with its configured lookup server."""
    if failure == REFUSED:
        script = _refuse_script(client.role)
    else:
        rules = (always("listlookup", FAILURES[failure]),)
        script = Script(client.role, publishes=MANY, rules=rules)
    ends: dict[str, Question] = {"went-on": works, "stopped": _asks_only_the_other}
    return play(client, script, ends, "stopped", within=LONG)


def _asks_only_the_other(story: Story) -> bool:
    """Return True if a client without a node goes on to look up at its second server alone."""
    return len(lookups(story, LOOKUP_2)) > MOST_LOOKUPS and not lookups(story, LOOKUP_1)


def _refuse_script(role: Role) -> Script:
    """Return a script in which the one server that knows the node refuses connections at first.

    No server answers /listlookup. That the other server is looked up a second time shows that the
    client has tried the first one.
    """
    rules = (
        Rule("start", (Down(LOOKUP_1),)),
        always("listlookup", FAILURES["500"]),
        once("lookup", Up(LOOKUP_1), peer=LOOKUP_2, at=2),
    )
    known = {LOOKUP_1: {0: NODE_1}, LOOKUP_2: dict[int, str]()}
    both = (LOOKUP_1, LOOKUP_2)
    return Script(role, publishes=MANY, configured=both, known=known, rules=rules)


@client_case("lookup/only/producer", "smart.client.lookup-only", "producer", "lookup-producer")
@pytest.mark.parametrize("failure", ["nobody", "500"])
def test_producer_only(client: Client, failure: str) -> Observation:
    """A producer whose lookups find no node does not connect to the one in its configuration."""
    return _only(client, "producer", failure)


@client_case("lookup/only/consumer", "smart.client.lookup-only", "consumer", "lookup")
@pytest.mark.parametrize("failure", ["nobody", "500"])
def test_consumer_only(client: Client, failure: str) -> Observation:
    """A consumer whose lookups find no node does not connect to the one in its configuration."""
    return _only(client, "consumer", failure)


def _only(client: Client, role: Role, failure: str) -> Observation:
    act = NOBODY["empty"] if failure == "nobody" else FAILURES[failure]
    over = once("lookup", After(ONLY_S, (Note(),)))
    script = Script(role, publishes=MANY, every=0.2, rules=(always("lookup", act), over))
    ends: dict[str, Question] = {
        "node": lambda story: bool(node_connections(story)),
        "lookup-only": _has_looked_on,
    }
    story = client.play(script, any_of(*ends.values()), within=LONG)
    if not node_connections(story) and looks_up_once(story):
        return unless(story, "unsupported", note=ONE_ROUND)
    return end_of(story, ends, "incomplete")


def _has_looked_on(story: Story) -> bool:
    """Return True if the client looked up after the script's period: it is there, and goes on."""
    mark = story.first(Marked)
    return mark is not None and any(each.at > mark.at for each in lookups(story))


@client_case("lookup/retry", "smart.client.lookup-retry", "lookup", "refresh")
@pytest.mark.parametrize("failure", ["500", "closed"])
def test_lookup_retry(client: Client, failure: str) -> Observation:
    """A client whose first two lookups fail looks up again and finds the node."""
    failing = Rule("lookup", (FAILURES[failure],), first=1, last=2)
    script = _without_configured(client.role, failing)
    story = client.play(script, works_by_lookup, within=LONG)
    worked = works_by_lookup(story)
    return unless(story, "recovered" if worked else "gave-up", seen=worked)


@client_case("lookup/refused", "smart.client.lookup-retry", "lookup", "refresh")
def test_refused(client: Client) -> Observation:
    """A client finds the node although one of its two lookup servers accepts no connection."""
    away = Rule("start", (Down(LOOKUP_1),))
    script = replace(_without_configured(client.role, away), configured=(LOOKUP_1, LOOKUP_2))
    return play(client, script, {"recovered": works_by_lookup}, "gave-up", within=LONG)


@client_case("lookup/nobody", "smart.client-lookup.nobody", "lookup", "refresh")
@pytest.mark.parametrize("answer", NOBODY)
def test_nobody(client: Client, answer: str) -> Observation:
    """A client survives a lookup answer without nodes, and finds the node with a later lookup."""
    return _after(client, NOBODY[answer])


@client_case("lookup/broken", "smart.client-robust.lookup", "lookup", "refresh")
@pytest.mark.parametrize("answer", BROKEN)
def test_broken(client: Client, answer: str) -> Observation:
    """A client survives a malformed lookup answer, and finds the node with a later lookup."""
    return _after(client, BROKEN[answer])


def _after(client: Client, act: Act) -> Observation:
    """Answer the first lookup with a failure and later ones correctly; observe the client."""
    # Of a lookup server that fails a client may ask the next one at once: both answer alike.
    first = (once("lookup", act, peer=peer) for peer in (LOOKUP_1, LOOKUP_2))
    script = _without_configured(client.role, *first)
    story = client.play(script, has_recovered, within=LONG)
    worked = works_by_lookup(story)
    return unless(story, "recovered" if worked else "lost", seen=worked)


def _without_configured(role: Role, *rules: Rule) -> Script:
    """Return a script in which the node in the client's configuration leads nothing."""
    return Script(role, publishes=MANY, every=0.2, leaders={0: NODE_2}, rules=rules)


@client_case(
    "lookup/nobody/told", "smart.client-lookup.told", "producer", "lookup-producer", "driver"
)
def test_nobody_told(client: Client) -> Observation:
    """A producer that finds no node reports to its user that the publish failed."""
    nobody = always("lookup", NOBODY["empty"])
    script = Script("producer", publishes=1, rules=(nobody,))
    story = client.play(script, lambda story: bool(failures(story, "produce")), within=LONG)
    seen = bool(failures(story, "produce"))
    return unless(story, "told" if seen else "not-told", seen=seen)


@client_case("lookup/dead/producer", "smart.client-lookup.dead", "producer", "lookup-producer")
def test_producer_dead(client: Client) -> Observation:
    """If its only lookup server resets connections, a producer does not try it in a loop."""
    return _dead(client, "producer")


@client_case("lookup/dead/consumer", "smart.client-lookup.dead", "consumer", "lookup")
def test_consumer_dead(client: Client) -> Observation:
    """If its only lookup server resets connections, a consumer does not try it in a loop."""
    return _dead(client, "consumer")


def _dead(client: Client, role: Role) -> Observation:
    rules = (
        once("connect", After(1.0, (Note(),)), peer=LOOKUP_1),
        always("connect", Close(reset=True), peer=LOOKUP_1),
    )
    # A driver is asked for few publishes: a lookup for each that fails is no loop.
    script = Script(role, publishes=2, every=0.5, listed=(LOOKUP_1,), rules=rules)
    story = client.play(script, any_of(is_marked, lambda story: _attempts(story) > MOST_CALM))
    value = "calm" if _attempts(story) <= most_calm(story, role) else "hot"
    seen = value == "hot" or is_marked(story)
    return shown(story, value, seen=seen, note=f"{_attempts(story)} connections in a second")


@client_case("lookup/dead/refused", "smart.client-lookup.dead", "consumer", "lookup", "driver")
def test_refused_dead(client: Client) -> Observation:
    """A consumer whose only lookup server refuses connections does not try it in a tight loop."""
    # Only the client sees a refused connection: what is measured is its work for a processor.
    period = (After(1.0, (Note(),)), After(2.5, (Note(),)))
    script = Script(
        "consumer",
        rules=(Rule("start", (Down(LOOKUP_1),)), Rule(ANSWERED, period, first=3, last=3)),
    )
    story = client.play(script, _is_over, within=LONG)
    if not _is_over(story):
        return unless(story, "incomplete", seen=False)
    first, last, *_ = story.of(Measured)
    if not last.used:
        return unless(story, "inconclusive:unmeasured")
    lasted = last.at - first.at
    ran, waited = (last.used - first.used) / lasted, (last.waited - first.waited) / lasted
    note = f"it ran for {ran:.0%} of the time, and waited for a processor for {waited:.0%}"
    is_hot = ran + waited > TIGHT
    # A wait that has not ended is in nobody's count, but then the kit has waited for long, too.
    kit_waited = (last.kit_waited - first.kit_waited) / lasted
    is_starved = waited > STARVED_SHARE or kit_waited > KIT_SHARE
    if is_starved and not (is_hot and ran > IDLE):
        return unless(story, "inconclusive:starved", note=note)
    return unless(story, "hot" if is_hot else "calm", note=note)


def _is_over(story: Story) -> bool:
    return len(story.of(Marked)) >= 2


def _attempts(story: Story) -> int:
    return len(story.of(Connected, lambda event: event.peer == LOOKUP_1))


@client_case("lookup/priority", "smart.client.lookup-priority", "lookup", "refresh")
def test_priority(client: Client) -> Observation:
    """The more often a lookup server has failed, the less often a client asks that server."""
    script = Script(
        client.role,
        publishes=MANY,
        configured=(LOOKUP_1, LOOKUP_2),
        rules=(always("connect", Close(reset=True), peer=LOOKUP_1),),
    )
    story = client.play(script, lambda story: len(lookups(story, LOOKUP_2)) >= 8, within=LONG)
    good = lookups(story, LOOKUP_2)
    if len(good) < 8:
        return unless(story, "inconclusive:too-few", seen=False)
    middle = good[3].at
    tries = story.of(Connected, lambda event: event.peer == LOOKUP_1)
    before = sum(event.at <= middle for event in tries)
    after = sum(middle < event.at <= good[7].at for event in tries)
    return unless(story, "less-often" if after < before else "as-often")
