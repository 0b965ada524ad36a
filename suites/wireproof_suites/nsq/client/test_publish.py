"""Publishing: what a producer sends, to whom, and what it makes of the answer."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TypeGuard

import pytest

from wireproof_kit.clients.client import COURSE_S
from wireproof_kit.clients.events import Answered, Event, Greeted
from wireproof_kit.clients.observe import (
    answers,
    any_of,
    failures,
    gave_up,
    is_marked,
    results,
    shown,
    unless,
)
from wireproof_kit.clients.story import Story
from wireproof_kit.nsq.clients.bodies import messages_of
from wireproof_kit.nsq.clients.client import Client
from wireproof_kit.nsq.clients.events import PUBLISHES, Commanded, Sent
from wireproof_kit.nsq.clients.script import (
    NODE_1,
    NODE_2,
    After,
    Bytes,
    Delay,
    Lead,
    Note,
    Refuse,
    Rule,
    Script,
    Silence,
    always,
    once,
)
from wireproof_kit.observation import Observation, observed
from wireproof_spec.driver.lines import Failure
from wireproof_spec.nsq import error_codes, names
from wireproof_spec.nsq.frame import error_frame
from wireproof_suites.nsq.client.client_case import client_case
from wireproof_suites.nsq.client.seen import (
    SELDOM,
    Question,
    at_least,
    distinct,
    end_of,
    error_sent,
    has_looked_again,
    is_success,
    lookups,
    move_and_back,
    not_followed,
    play,
    publishes,
)

MANY = 1000
LONG = 15.0
TWO = {0: NODE_1, 1: NODE_2}
BODY = [error_codes.E_BAD_MESSAGE, error_codes.E_BAD_BODY]
PERMANENT = [error_codes.E_BAD_TOPIC, error_codes.E_EXT_NOT_SUPPORT]
MOVED = [error_codes.E_FAILED_ON_NOT_LEADER, error_codes.E_FAILED_ON_NOT_WRITABLE]
MISSING = [error_codes.E_TOPIC_NOT_EXIST]
PASSING = [error_codes.E_INVALID, error_codes.E_PUB_FAILED]
OTHER = "E_OTHER"
ERROR_CODE = "smart.client-connection.error-code"
ACCEPTED = 2
"""Publishes answered OK before one is refused: they show whether the client's messages differ."""
ALIKE = "the client's messages cannot be told apart: publish other bytes in each of them"
NO_MORE = "inconclusive:no-more"
"""The client fell silent after the refusal: whether it repeats the publish is not shown."""
REPEATED_S = 1.0
"""Seconds for a client that publishes other messages meanwhile to repeat the refused one."""
ANSWERED = frozenset({names.IDENTIFY.decode(), names.CLS.decode()})
"""What a node answers beside publishes; a producer subscribes to nothing."""
ENDLESS = 20
"""Publishes of one message; a client that sends more of them does not stop by itself."""


def _find_refused(story: Story) -> Commanded | None:
    """Return the publish that was refused first, or None.

    A client may send further publishes before it reads an answer: answers come in the order of
    the commands that they belong to.
    """
    error = error_sent(story)
    if error is None:
        return None
    so_far = [each for each in story.events[: story.index(error) + 1] if each.conn == error.conn]
    number = sum(_is_answer(each) for each in so_far)
    answered = [each for each in so_far if _is_answered(each)]
    found = answered[number - 1] if number <= len(answered) else None
    return found if found is not None and _is_publish(found) else None


def _is_publish(event: Event) -> TypeGuard[Commanded]:
    return isinstance(event, Commanded) and event.name in PUBLISHES


def _is_answered(event: Event) -> TypeGuard[Commanded]:
    """Return True for a command of a producer that a node answers."""
    return _is_publish(event) or (isinstance(event, Commanded) and event.name in ANSWERED)


def _is_answer(event: Event) -> bool:
    return isinstance(event, Sent) and event.data != names.HEARTBEAT


def _has_any(event: Event, messages: Collection[bytes]) -> bool:
    return _is_publish(event) and any(each in messages for each in messages_of(event))


def _list_repeated(story: Story) -> list[Commanded]:
    """Return the publishes of a message that was refused first; it may be one of a batch."""
    refused = _find_refused(story)
    if refused is None:
        return []
    messages = messages_of(refused)
    return [event for event in publishes(story) if _has_any(event, messages)]


def _is_repeated(story: Story) -> bool:
    return len(_list_repeated(story)) >= 2


def _is_endless(story: Story) -> bool:
    return len(_list_repeated(story)) > ENDLESS


def _goes_on(story: Story) -> bool:
    """Return True once the client sends another message, or tells how the refused one ended."""
    error, refused = error_sent(story), _find_refused(story)
    if error is None or refused is None:
        return False
    later = story.after(error)
    messages = messages_of(refused)
    others = any(_is_publish(event) and not _has_any(event, messages) for event in later)
    return others or _is_told(story)


def _is_told(story: Story) -> bool:
    """Return True once the client has told its user how the refused publish ended."""
    error = error_sent(story)
    later = story.after(error) if error is not None else ()
    return any(isinstance(event, Answered) and event.op == "produce" for event in later)


def _is_left(story: Story) -> bool:
    """Return True once the client goes on, and has had the time to repeat the refused message.

    A client may publish other messages while the refused one waits for its turn.
    """
    return _goes_on(story) and (_is_told(story) or is_marked(story))


def _are_alike(story: Story) -> bool:
    """Return True if a body came again from a client whose messages were not seen to differ.

    A driver is asked to publish another message each time. Without one a client may publish the
    same body always, or a time in seconds: that does not show that it repeats a publish.
    """
    refused = _find_refused(story)
    if refused is None or not _is_repeated(story) or story.first(Greeted) is not None:
        return False
    so_far = story.events[: story.index(refused) + 1]
    messages = [each for event in so_far if _is_publish(event) for each in messages_of(event)]
    return len(messages) <= ACCEPTED or distinct(messages) < len(messages)


_REPEATED: dict[str, Question] = {"again": _is_repeated, "once": _is_left}


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
    if answer is not None and isinstance(answer.answer, Failure):
        return gave_up(story, "gave-up")
    early = answer is not None and not _is_accepted_before(story, answer)
    return shown(story, "early" if early else "waited", seen=answer is not None)


def _is_accepted_before(story: Story, answer: Answered) -> bool:
    """Return True if a node had answered a publish with OK before the user was told."""
    before = story.events[: story.index(answer)]
    sent = {event.conn: place for place, event in enumerate(before) if _is_publish(event)}
    return any(
        is_success(event) and place > sent.get(event.conn, place)
        for place, event in enumerate(before)
    )


@client_case("publish/told/refused", "smart.client-publish.refusal-told", "producer", "driver")
@pytest.mark.parametrize("code", [*BODY, *PERMANENT, *PASSING, *MOVED, *MISSING, OTHER])
def test_told_refused(client: Client, code: str) -> Observation:
    """A producer reports failure to its user when every publish is refused."""
    ends: dict[str, Question] = {
        "failure": lambda story: bool(failures(story, "produce")),
        "success": lambda story: bool(results(story, "produce")),
    }
    refused = always("PUBLISH", Refuse(code, "refused"))
    script = Script("producer", publishes=2, rules=(refused,))
    return play(client, script, ends, "not-told", within=LONG)


@client_case("publish/no-retry", "smart.client.no-retry", "producer")
@pytest.mark.parametrize("code", BODY)
def test_no_retry(client: Client, code: str) -> Observation:
    """A producer does not repeat a publish that was refused for its message body."""
    return _observe_final(client, code)


@client_case("publish/no-retry", "smart.client-publish.permanent-errors", "producer")
@pytest.mark.parametrize("code", PERMANENT)
def test_permanent_errors(client: Client, code: str) -> Observation:
    """A producer does not repeat a publish refused with E_BAD_TOPIC or E_EXT_NOT_SUPPORT."""
    return _observe_final(client, code)


def _observe_final(client: Client, code: str) -> Observation:
    story = _refuse_one(client, code, _REPEATED)
    if not _is_repeated(story) and _is_kept_from_repeating(story, code):
        return unless(story, "inconclusive:starved")
    return _end_of_refused(story, _REPEATED)


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
    return _end_of_refused(_refuse_one(client, code, _REPEATED), _REPEATED)


@client_case("publish/retry/bound", "smart.client.retry-bound", "producer")
@pytest.mark.parametrize("code", [*MOVED, *MISSING, *PASSING])
def test_retry_bound(client: Client, code: str) -> Observation:
    """A producer stops repeating a publish that is refused each time."""
    ends: dict[str, Question] = {"endless": _is_endless, "bounded": _goes_on}
    return _end_of_refused(_refuse_one(client, code, ends, within=LONG), ends)


def _refuse_one(
    client: Client, code: str, ends: Mapping[str, Question], *, within: float = COURSE_S
) -> Story:
    """Accept some publishes and refuse all others, until one of the ends is seen."""
    refuse = Rule("PUBLISH", (Refuse(code, "refused"),), first=ACCEPTED + 1)
    over = once("PUBLISH", After(REPEATED_S, (Note(),)), at=ACCEPTED + 1)
    script = Script("producer", publishes=ACCEPTED + 2, rules=(refuse, over))
    return client.play(script, any_of(*ends.values(), _are_alike), within=within)


def _end_of_refused(story: Story, ends: Mapping[str, Question]) -> Observation:
    if _are_alike(story):
        return unless(story, "unsupported", note=ALIKE)
    return end_of(story, ends, NO_MORE)


@client_case("publish/refresh", "smart.client.retry-refreshed", "producer", "lookup-producer")
@pytest.mark.parametrize("code", MOVED)
def test_refresh(client: Client, code: str) -> Observation:
    """A producer refused by a node that does not lead looks up the leader and publishes there."""
    return _observe_refresh(client, code)


@client_case(
    "publish/refresh", "smart.client-publish.topic-not-exist", "producer", "lookup-producer"
)
@pytest.mark.parametrize("code", MISSING)
def test_topic_not_exist(client: Client, code: str) -> Observation:
    """A producer refused with E_TOPIC_NOT_EXIST looks up the leader and publishes there."""
    return _observe_refresh(client, code)


def _observe_refresh(client: Client, code: str) -> Observation:
    script = replace(_move_script(code), settings=SELDOM)
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


@client_case(
    "publish/refresh/as-without-text", ERROR_CODE, "producer", "lookup-producer", "driver"
)
def test_refresh_as_without_text(client: Client) -> Observation:
    """A producer that publishes anew after an error's code does so if a text follows the code."""
    rules = move_and_back("PUBLISH", stays=1)
    script = Script("producer", publishes=2, rules=rules, settings=SELDOM)
    ends: dict[str, Question] = {"back": _is_published_back, "gave-up": _has_failed}
    story = client.play(script, any_of(*ends.values()), within=LONG)
    # A client that fails the publish without a lookup has not run out of time.
    given_up = "gave-up" if has_looked_again(story) else ""
    return not_followed(story, publishes(story)) or end_of(story, ends, "gave-up", given_up)


def _is_published_back(story: Story) -> bool:
    peers = [event.peer for event in publishes(story)]
    return NODE_2 in peers and NODE_1 in peers[peers.index(NODE_2) :]


@client_case("publish/refresh/ordered", "smart.client.shard-retry", "producer", "key")
def test_refresh_ordered(client: Client) -> Observation:
    """A publish by sharding key that reaches no leader is repeated at the new leader."""
    script = _move_script(MOVED[0], keys=("a",))
    ends: dict[str, Question] = {"again": _is_published_anew, "gave-up": _has_failed}
    return play(client, script, ends, "gave-up", within=LONG, given_up="gave-up")


def _move_script(code: str, keys: tuple[str, ...] = ()) -> Script:
    refused = Bytes(error_frame(code))
    # A client may look up at once: on a busy machine the kit comes to its next act late.
    rule = always("PUBLISH", Silence(), Lead({0: NODE_2}), refused, peer=NODE_1)
    return Script("producer", publishes=1, rules=(rule,), keys=keys, ordered=bool(keys))


def _is_published_anew(story: Story) -> bool:
    return any(event.peer == NODE_2 for event in publishes(story))


def _has_failed(story: Story) -> bool:
    return bool(failures(story, "produce"))
