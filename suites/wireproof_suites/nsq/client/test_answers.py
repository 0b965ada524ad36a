"""Answers that say OK, come late, or do not come: what the user is told."""

from wireproof_kit.clients.events import Answered
from wireproof_kit.clients.observe import answers, failures, gave_up, results, shown, unless
from wireproof_kit.clients.story import Story
from wireproof_kit.nsq.clients.bodies import messages_of
from wireproof_kit.nsq.clients.client import Client
from wireproof_kit.nsq.clients.driver_requests import PRODUCE
from wireproof_kit.nsq.clients.events import Sent
from wireproof_kit.nsq.clients.script import (
    After,
    Beat,
    Delay,
    Refuse,
    Rule,
    Script,
    Silence,
    always,
    once,
)
from wireproof_kit.observation import Observation
from wireproof_spec.driver.lines import Failure, Result, from_base64
from wireproof_spec.nsq import error_codes
from wireproof_suites.nsq.client.client_case import client_case
from wireproof_suites.nsq.client.seen import Question, is_success, play, publishes

LATE_S = 2.0
"""Seconds until an answer that the client, which waits for 1 s, has given up."""
LONG = 15.0
FIRST, SECOND = b"wireproof-000000", b"wireproof-000001"
REFUSED = Refuse(error_codes.E_BAD_MESSAGE, "refused")


def _told(story: Story) -> dict[bytes, bool]:
    """Return whether the user was told of success, for each message with an answer."""
    found: dict[bytes, bool] = {}
    for each in answers(story, PRODUCE):
        if isinstance(each.answer, Result | Failure):
            found[_body(story, each)] = isinstance(each.answer, Result)
    return found


def _body(story: Story, answered: Answered) -> bytes:
    """Return the message of the publish that the driver has answered."""
    return from_base64(str(story.requests[answered.answer.id]["body"]))


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


@client_case("publish/told/late", "smart.client.wait-response", "producer", "driver")
def test_late(client: Client) -> Observation:
    """A producer takes a late answer to one publish for no answer to the next one.

    The first publish is answered when the client has given it up, and the next one is refused.
    """
    rules = (
        once("PUBLISH", Delay(LATE_S)),
        Rule("PUBLISH", (Silence(), After(LATE_S, (REFUSED,))), first=2),
    )
    story = client.play(
        Script("producer", publishes=2, rules=rules), lambda s: SECOND in _told(s), within=LONG
    )
    told = _told(story)
    if told.get(FIRST, True) and FIRST in told:
        return unless(story, "unsupported", note="the client waits longer for an answer")
    # A client that fails before it sends the first message has its second one answered with OK.
    bodies = [messages_of(each) for each in publishes(story)]
    refused = bool(bodies) and FIRST in bodies[0] and any(SECOND in each for each in bodies[1:])
    value = "success" if told.get(SECOND) else "failure"
    return shown(story, value, seen=refused and SECOND in told)


@client_case("publish/told/each", "smart.client.wait-response", "producer", "driver")
def test_each(client: Client) -> Observation:
    """A producer that is asked for two publishes at once tells its user which one was refused."""
    rules = (
        once("PUBLISH", Delay(0.4)),
        Rule("PUBLISH", (Silence(), After(0.5, (REFUSED,))), first=2),
    )
    script = Script("producer", publishes=2, at_once=2, rules=rules)
    story = client.play(script, lambda s: len(_told(s)) >= 2, within=LONG)
    told = _told(story)
    accepted = messages_of(publishes(story)[0]) if publishes(story) else ()
    if any(is_told and body not in accepted for body, is_told in told.items()):
        return unless(story, "other")
    success = next((each for each in story.of(Sent) if is_success(each)), None)
    for each in answers(story, PRODUCE):
        if _body(story, each) in accepted and isinstance(each.answer, Failure):
            if success is None or story.index(each) < story.index(success):
                return unless(story, "unsupported", note="the client waits less for an answer")
            return gave_up(story, "other")
    return shown(story, "as-answered", seen=len(told) >= 2 and success is not None)
