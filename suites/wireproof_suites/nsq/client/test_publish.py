"""Publishing: what a producer sends, to whom, and what it makes of the answer."""

from dataclasses import replace

import pytest

from wireproof_kit.clients.observe import (
    answers,
    any_of,
    failures,
    gave_up,
    results,
    shown,
    unless,
)
from wireproof_kit.clients.story import Story
from wireproof_kit.nsq.clients.client import Client
from wireproof_kit.nsq.clients.events import Sent
from wireproof_kit.nsq.clients.script import (
    NODE_1,
    NODE_2,
    After,
    Beat,
    Bytes,
    Delay,
    Lead,
    Refuse,
    Script,
    Silence,
    always,
    once,
)
from wireproof_kit.observation import Observation, observed
from wireproof_spec.nsq.frame import error_frame
from wireproof_suites.nsq.client.client_case import client_case
from wireproof_suites.nsq.client.seen import (
    Question,
    at_least,
    distinct,
    end_of,
    error_sent,
    lookups,
    message_of,
    play,
    publishes,
)

MANY = 1000
LONG = 15.0
TWO = {0: NODE_1, 1: NODE_2}
FINAL = ["E_BAD_MESSAGE", "E_BAD_TOPIC", "E_BAD_BODY", "E_EXT_NOT_SUPPORT"]
MOVED = ["E_FAILED_ON_NOT_LEADER", "E_FAILED_ON_NOT_WRITABLE", "E_TOPIC_NOT_EXIST"]
PASSING = ["E_INVALID", "E_PUB_FAILED"]
NO_MORE = "inconclusive:no-more"
"""The client fell silent after the refusal: whether it repeats the publish is not shown."""
ENDLESS = 20
"""Publishes of one message; a client that sends more of them does not stop by itself."""


def _first_message(story: Story) -> bytes | None:
    first = next(iter(publishes(story)), None)
    return message_of(first) if first else None


def _is_repeated(story: Story) -> bool:
    return _count(story) >= 2


def _is_endless(story: Story) -> bool:
    return _count(story) > ENDLESS


def _count(story: Story) -> int:
    """Return how often the first message was published."""
    message = _first_message(story)
    return sum(message_of(event) == message for event in publishes(story))


def _goes_on(story: Story) -> bool:
    """Return True once the client is done with the first message: it sends another or says so."""
    message = _first_message(story)
    others = any(message_of(event) != message for event in publishes(story))
    return bool(others or answers(story, "produce"))


_REPEATED: dict[str, Question] = {"again": _is_repeated, "once": _goes_on}


@client_case("publish/grammar", "smart.client-send.publish", "producer", "partition")
def test_grammar(client: Client) -> Observation:
    """A producer sends PUB with topic and partition to the node that leads the partition."""
    story = client.play(Script("producer", leaders=TWO, publishes=MANY), at_least(4, publishes))
    for event in publishes(story):
        if event.words[:1] != (story.find_given("topic"),):
            return observed("other-topic", note=event.line.decode("latin-1"))
        if event.partition is None:
            return observed("no-partition", note=event.line.decode("latin-1"))
        if TWO.get(event.partition) != event.peer:
            return observed("other-node", note=event.line.decode("latin-1"))
    return shown(story, "to-the-leader", seen=len(publishes(story)) >= 4)


@client_case("publish/spread", "smart.client.any-partition", "producer", "partition")
def test_spread(client: Client) -> Observation:
    """A producer spreads 20 messages over both partitions."""
    story = client.play(Script("producer", leaders=TWO, publishes=MANY), at_least(20, publishes))
    spread = distinct(event.partition for event in publishes(story)) > 1
    return unless(story, "spread" if spread else "one", seen=len(publishes(story)) >= 20)


@client_case("publish/reuse", "smart.client.pool", "producer")
def test_reuse(client: Client) -> Observation:
    """A producer publishes ten messages over fewer than ten connections."""
    story = client.play(Script("producer", publishes=MANY), at_least(10, publishes))
    used = distinct(event.conn for event in publishes(story)[:10])
    return shown(story, "reused" if used < 10 else "one-each", seen=len(publishes(story)) >= 10)


@client_case("publish/wait", "smart.client.wait-response", "producer", "driver")
def test_wait(client: Client) -> Observation:
    """A producer reports success to its user only after the node has answered."""
    late = once("PUBLISH", Delay(0.5))
    story = client.play(
        Script("producer", publishes=1, rules=(late,)), lambda s: bool(answers(s, "produce"))
    )
    answer = next(iter(answers(story, "produce")), None)
    sent = story.first(Sent, lambda event: event.data == b"OK")
    early = answer is not None and (sent is None or story.index(answer) < story.index(sent))
    return shown(story, "early" if early else "waited", seen=answer is not None)


@client_case("publish/told/success", "smart.client.wait-response", "producer", "driver")
def test_told_success(client: Client) -> Observation:
    """A producer reports success to its user after the node has answered OK."""
    ends: dict[str, Question] = {
        "success": lambda story: bool(results(story, "produce")),
        "failure": lambda story: bool(failures(story, "produce")),
    }
    return play(client, Script("producer", publishes=1), ends, "not-told", given_up="failure")


@client_case("publish/told/unanswered", "smart.client-publish.unanswered", "producer", "driver")
def test_told_unanswered(client: Client) -> Observation:
    """A producer reports failure to its user when no node answers."""
    ends: dict[str, Question] = {
        "failure": lambda story: bool(failures(story, "produce")),
        "success": lambda story: bool(results(story, "produce")),
    }
    # Without heartbeats pynsq takes the node for dead after 60 s, and says so: that is no answer.
    beats = tuple(After(seconds, (Beat(),)) for seconds in (10.0, 30.0, 50.0))
    script = Script("producer", publishes=1, rules=(always("PUBLISH", Silence(), *beats),))
    return play(client, script, ends, "not-told", within=LONG)


@client_case("publish/told/refused", "smart.client-publish.refusal-told", "producer", "driver")
@pytest.mark.parametrize("code", [*FINAL, *PASSING, *MOVED])
def test_told_refused(client: Client, code: str) -> Observation:
    """A producer reports failure to its user when every publish is refused."""
    ends: dict[str, Question] = {
        "failure": lambda story: bool(failures(story, "produce")),
        "success": lambda story: bool(results(story, "produce")),
    }
    return play(client, _refuse_script(code), ends, "not-told", within=LONG)


@client_case("publish/no-retry", "smart.client.no-retry", "producer")
@pytest.mark.parametrize("code", FINAL)
def test_no_retry(client: Client, code: str) -> Observation:
    """A producer does not repeat a publish refused with a permanent error, such as E_BAD_TOPIC."""
    story = client.play(_refuse_script(code), any_of(*_REPEATED.values()))
    if not _is_repeated(story) and _is_kept_from_repeating(story, code):
        return unless(story, "inconclusive:starved")
    return end_of(story, _REPEATED, NO_MORE)


def _is_kept_from_repeating(story: Story, code: str) -> bool:
    """Return True if a starved client looked for another node, and failed for want of one.

    go-nsq repeats the publish, but ends it when no lookup names another node within 0.3 s.
    """
    error, told = error_sent(story), failures(story, "produce")
    if error is None or not (story.is_starved() and told):
        return False
    looks = any(story.index(each) > story.index(error) for each in lookups(story))
    return looks and not any(code in each.message for each in told)


@client_case("publish/retry", "smart.client-publish.retry", "producer")
@pytest.mark.parametrize("code", PASSING)
def test_retry(client: Client, code: str) -> Observation:
    """A producer repeats a publish that was refused with a temporary error."""
    return play(client, _refuse_script(code), _REPEATED, NO_MORE)


@client_case("publish/retry/bound", "smart.client.retry-bound", "producer")
@pytest.mark.parametrize("code", [*MOVED, *PASSING])
def test_retry_bound(client: Client, code: str) -> Observation:
    """A producer stops repeating a publish that is refused each time."""
    ends: dict[str, Question] = {"endless": _is_endless, "bounded": _goes_on}
    return play(client, _refuse_script(code), ends, NO_MORE, within=LONG)


@client_case("publish/refresh", "smart.client.retry-refreshed", "producer", "lookup-producer")
@pytest.mark.parametrize("code", MOVED)
def test_refresh(client: Client, code: str) -> Observation:
    """A producer refused by a node that does not lead looks up the leader and publishes there."""
    # The next lookup by the interval is far away: one that comes has been asked for.
    script = replace(_move_script(code), settings={"lookup_interval_ms": "60000"})
    story = client.play(script, any_of(_is_published_anew, _has_failed), within=LONG)
    anew = next((event for event in publishes(story) if event.peer == NODE_2), None)
    if anew is None:
        failed = _has_failed(story)
        return gave_up(story, "gave-up") if failed else unless(story, "gave-up", seen=False)
    error = error_sent(story)
    again = error is not None and any(
        story.index(error) < story.index(each) < story.index(anew) for each in lookups(story)
    )
    return unless(story, "refreshed" if again else "guessed")


@client_case("publish/refresh/ordered", "smart.client.shard-retry", "producer", "key")
def test_refresh_ordered(client: Client) -> Observation:
    """A publish by sharding key that reaches no leader is repeated at the new leader."""
    script = _move_script(MOVED[0], keys=("a",))
    ends: dict[str, Question] = {"again": _is_published_anew, "gave-up": _has_failed}
    return play(client, script, ends, "gave-up", within=LONG, given_up="gave-up")


def _refuse_script(code: str) -> Script:
    return Script("producer", publishes=2, rules=(always("PUBLISH", Refuse(code, "refused")),))


def _move_script(code: str, keys: tuple[str, ...] = ()) -> Script:
    refused = Bytes(error_frame(code))
    rule = always("PUBLISH", Silence(), refused, Lead({0: NODE_2}), peer=NODE_1)
    return Script("producer", publishes=1, rules=(rule,), keys=keys, ordered=bool(keys))


def _is_published_anew(story: Story) -> bool:
    return any(event.peer == NODE_2 for event in publishes(story))


def _has_failed(story: Story) -> bool:
    return bool(failures(story, "produce"))
