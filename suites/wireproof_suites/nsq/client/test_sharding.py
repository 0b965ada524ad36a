"""Publishing in order: all messages of a sharding id go to one partition."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import groupby
from types import MappingProxyType

from wireproof_kit.clients.observe import answers, any_of, failures, results, shown, unless
from wireproof_kit.clients.story import Story
from wireproof_kit.nsq.clients.bodies import messages_of
from wireproof_kit.nsq.clients.client import Client
from wireproof_kit.nsq.clients.driver_requests import PRODUCE
from wireproof_kit.nsq.clients.events import PUBLISHES, Commanded, Requested, Responded
from wireproof_kit.nsq.clients.script import (
    LOOKUP_1,
    LOOKUP_2,
    NODE_1,
    NODE_2,
    Lead,
    Refuse,
    Rule,
    Script,
    once,
)
from wireproof_kit.observation import Observation
from wireproof_spec.driver.lines import Fields, in_base64
from wireproof_spec.nsq import error_codes
from wireproof_suites.nsq.client.client_case import client_case
from wireproof_suites.nsq.client.seen import (
    Question,
    distinct,
    end_of,
    lookups,
    play,
    publishes,
)

KEYS = tuple(f"key-{number}" for number in range(8))
MANY_KEYS = tuple(f"key-{number}" for number in range(61))
"""A prime number: a producer that takes the partitions in turn, whatever the key, is seen."""
TWO = {0: NODE_1, 1: NODE_2}
MANY = 200
LONG = 25.0
ROUNDS = 3
REFRESH_S = 8.0
CHANGES, UNASKED = 5, 3
"""So many changes of partition in a row, each with or each without a lookup, are no chance."""
KNOWN_BY = {LOOKUP_1: 0, LOOKUP_2: 1}
MOST_ELSEWHERE = 0.1
REFUSED_AT = (70, 90, 110, 130)
"""The publishes that are refused once: of sharding ids that were used before."""
ASKS_FIRST = "inconclusive:asks-first"
"""The client looks up before it changes the partition, but not by one answer alone."""


def _by_key(story: Story) -> Mapping[str, set[int]]:
    """Return the partitions to which the messages of each key were published."""
    asked = [request for request in story.requests.values() if request["op"] == PRODUCE]
    keys = {str(request["body"]): str(request["key"]) for request in asked}
    found: dict[str, set[int]] = {key: set() for key in keys.values()}
    for event in publishes(story):
        for message in messages_of(event):
            key = keys.get(in_base64(message))
            if key is not None and event.partition is not None:
                found[key].add(event.partition)
    return found


def _has_gone_well(count: int) -> Question:
    return lambda story: len(results(story, PRODUCE)) >= count


def _has_gone_round(story: Story) -> bool:
    """Return True once the messages of all keys were published, three times over."""
    return _has_gone_well(ROUNDS * len(_by_key(story)))(story)


def _script(*rules: Rule, keys: tuple[str, ...] = KEYS, every: float = 0.02) -> Script:
    return Script(
        "producer",
        leaders=TWO,
        ordered=True,
        publishes=MANY,
        every=every,
        keys=keys,
        rules=rules,
    )


@client_case("shard/stable", "smart.client.shard", "producer", "key", "partition")
def test_stable(client: Client) -> Observation:
    """A producer sends all messages of one sharding id to the same partition."""
    return _observe_stability(client)


@client_case("shard/moved", "smart.client.shard", "producer", "key", "partition")
def test_moved(client: Client) -> Observation:
    """A producer keeps the partition of each sharding id when its leader moves."""
    move = once("PUBLISH", Lead({0: NODE_2, 1: NODE_1}), at=len(MANY_KEYS) + 2)
    return _observe_stability(client, move)


@client_case("shard/traced", "smart.client.shard", "producer", "key", "partition", "trace")
def test_traced(client: Client) -> Observation:
    """A producer keeps the partition of each sharding id for messages that it traces."""
    return _observe_stability(client, messages=({}, {"trace_id": "5"}), settings={"trace": "1"})


@client_case("shard/ext", "smart.client.shard", "producer", "key", "partition", "ext-producer")
def test_ext(client: Client) -> Observation:
    """A producer keeps the partition of each sharding id for messages with a header."""
    return _observe_stability(client, messages=({}, {"ext": {"k": "v"}}), extend=True)


@client_case("shard/refused", "smart.client.shard", "producer", "key", "partition")
def test_refused(client: Client) -> Observation:
    """A producer whose publish was refused repeats it in the same partition, if it does."""
    refused = (
        once("PUBLISH", Refuse(error_codes.E_PUB_FAILED, "refused"), at=at) for at in REFUSED_AT
    )
    return _observe_stability(client, *refused)


def _observe_stability(
    client: Client,
    *rules: Rule,
    messages: tuple[Fields, ...] = (),
    settings: Mapping[str, str] = MappingProxyType({}),
    extend: bool = False,
) -> Observation:
    script = replace(
        _script(*rules, keys=MANY_KEYS, every=0.005),
        publishes=2 * MANY,
        messages=messages,
        settings=settings,
        extend=extend,
    )
    story = client.play(script, _has_gone_well(ROUNDS * len(MANY_KEYS)), within=LONG)
    used = _by_key(story).values()
    value = "stable" if all(len(each) <= 1 for each in used) else "changing"
    return shown(story, value, seen=_has_gone_round(story) and any(used))


@client_case("shard/metainfo", "smart.client.shard-metainfo", "producer", "key", "partition")
def test_metainfo(client: Client) -> Observation:
    """A producer that publishes by key asks lookup servers for metainfo."""
    done = _has_gone_well(1)
    story = client.play(_script(), done, within=LONG)
    asked = [request.value("metainfo") for request in lookups(story)]
    value = "metainfo" if "true" in asked else "no-metainfo"
    return unless(story, value, seen=done(story))


@client_case("shard/spread", "smart.client-publish.shards", "producer", "key", "partition")
def test_spread(client: Client) -> Observation:
    """A producer uses both partitions for eight sharding ids."""
    done = _has_gone_well(len(KEYS))
    story = client.play(_script(), done, within=LONG)
    spread = distinct(event.partition for event in publishes(story)) > 1
    return unless(story, "spread" if spread else "one", seen=done(story))


@client_case(
    "shard/unavailable", "smart.client.shard-unavailable", "producer", "spread", "partition"
)
def test_unavailable(client: Client) -> Observation:
    """A producer whose partition nobody leads fails, and uses no other partition."""
    gone = once("PUBLISH", Lead({1: None}), at=len(KEYS))
    ends: dict[str, Question] = {
        "other-partition": lambda s: any(len(each) > 1 for each in _by_key(s).values()),
        "failure": lambda s: bool(failures(s, PRODUCE)),
    }
    return play(client, _script(gone, every=0.1), ends, "not-told", within=LONG)


@client_case("shard/incomplete", "smart.client.complete", "producer", "spread", "partition")
def test_incomplete(client: Client) -> Observation:
    """A producer notices that a lookup names fewer partitions than its partition_num says."""
    ends: dict[str, Question] = {
        "noticed": lambda s: bool(failures(s, PRODUCE)),
        "unnoticed": _has_gone_well(2 * len(KEYS)),
    }
    return play(client, _incomplete(), ends, "not-told", within=LONG)


@client_case("shard/refresh", "smart.client.shard-refresh", "producer", "key", "partition")
def test_refresh(client: Client) -> Observation:
    """A producer that knows no node of its partition looks up again before it gives up."""
    # The next lookup by the interval is far away: one that comes has been asked for.
    script = replace(_incomplete(), settings={"lookup_interval_ms": "60000"})
    story = client.play(script, _looks_up_after_failing, within=REFRESH_S)
    seen = _looks_up_after_failing(story)
    return unless(story, "looked-up" if seen else "did-not", seen=seen)


def _incomplete() -> Script:
    """Return a script in which no lookup server names the second partition."""
    known = {LOOKUP_1: {0: NODE_1}, LOOKUP_2: {0: NODE_1}}
    return Script("producer", leaders=TWO, ordered=True, publishes=MANY, keys=KEYS, known=known)


def _looks_up_after_failing(story: Story) -> bool:
    """Return True if a publish failed, and lookups went on after the first publish had ended."""
    ended = next(iter(answers(story, PRODUCE)), None)
    if ended is None or not failures(story, PRODUCE):
        return False
    return any(story.index(each) > story.index(ended) for each in lookups(story))


@client_case("shard/merge", "smart.client.lookup-all", "producer", "spread", "partition")
def test_merge(client: Client) -> Observation:
    """A producer uses both partitions if each lookup server names only one of them."""
    known = {peer: {number: TWO[number]} for peer, number in KNOWN_BY.items()}
    script = Script(
        "producer",
        leaders=TWO,
        ordered=True,
        publishes=MANY,
        every=0.05,
        # Of eight keys one client put seven in one partition: a slow one hardly ever changed it.
        keys=tuple(f"key-{number}" for number in range(MANY)),
        known=known,
        configured=(LOOKUP_1, LOOKUP_2),
    )
    ends: dict[str, Question] = {
        "merged": lambda s: _has_row(_changes(s), UNASKED, asked=False),
        "one-answer": lambda s: _asks_each_time(s) and _keeps_last(s),
    }
    story = client.play(script, any_of(*ends.values()), within=LONG)
    return end_of(story, ends, ASKS_FIRST if _asks_each_time(story) else "one-answer")


def _asks_each_time(story: Story) -> bool:
    return _has_row(_changes(story), CHANGES, asked=True)


def _changes(story: Story) -> list[bool]:
    """Return, for each change of the partition published to, whether a lookup came before it.

    Only lookups since the change before count, and changes after both lookup servers were asked.
    A client that merges the answers knows both leaders and asks nobody. One that keeps the last
    answer must ask again each time; on a busy machine it may still publish by the answer before.
    """
    found: list[bool] = []
    last: int | None = None
    asked = False
    for event in story.events[_all_asked(story) :]:
        if isinstance(event, Requested):
            asked = True
        elif isinstance(event, Commanded) and event.name in PUBLISHES:
            if last is not None and event.partition != last:
                found.append(asked)
                asked = False
            last = event.partition
    return found if _all_asked(story) else []


def _keeps_last(story: Story) -> bool:
    """Return True if publishes went where the last lookup answer pointed, but for a few at most.

    A client may look up at both servers before each publish and merge the answers: of its
    publishes every second one went elsewhere. A busy one that keeps the last answer may publish
    once or twice by the answer before.
    """
    begin = _all_asked(story)
    last: int | None = None
    followed = elsewhere = 0
    asked: dict[str, Requested] = {}
    for place, event in enumerate(story.events):
        if isinstance(event, Requested):
            asked[event.conn] = event
        elif isinstance(event, Responded) and asked[event.conn].path == "/lookup":
            last = KNOWN_BY[event.peer]
        elif isinstance(event, Commanded) and event.name in PUBLISHES and place >= begin:
            followed += event.partition == last
            elsewhere += event.partition != last
    return begin > 0 and elsewhere <= MOST_ELSEWHERE * (followed + elsewhere)


def _has_row(changes: list[bool], count: int, *, asked: bool) -> bool:
    """Return True if so many changes in a row were alike."""
    rows = (list(row) for each, row in groupby(changes) if each == asked)
    return any(len(row) >= count for row in rows)


def _all_asked(story: Story) -> int:
    """Return where in the story both lookup servers had been asked; 0 if they were not."""
    firsts = [next(iter(lookups(story, peer)), None) for peer in (LOOKUP_1, LOOKUP_2)]
    places = [story.index(each) for each in firsts if each is not None]
    return max(places) if len(places) == len(firsts) else 0


@client_case("shard/no-key", "smart.client-publish.no-key", "producer", "key")
def test_no_key(client: Client) -> Observation:
    """A producer refuses an ordered publish without a sharding id."""
    script = Script("producer", leaders=TWO, ordered=True, publishes=1, keys=("",))
    ends: dict[str, Question] = {
        "published": lambda s: bool(publishes(s)),
        "refused": lambda s: bool(failures(s, PRODUCE)),
    }
    return play(client, script, ends, "not-told")
