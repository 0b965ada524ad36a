"""Checks a driver of an NSQ client against the driver protocol, and against NSQ's additions."""

from collections.abc import Iterator

from wireproof_kit.clients.check import (
    START_S,
    check_client,
    explain_failure,
    find_misfit,
    list_answers,
)
from wireproof_kit.clients.events import Told
from wireproof_kit.clients.part import Role, Until
from wireproof_kit.clients.story import Story
from wireproof_kit.drivers.check import Finding
from wireproof_kit.nsq.clients.client import SETTINGS, start_client
from wireproof_kit.nsq.clients.driver_requests import CONSUME, PRODUCE
from wireproof_kit.nsq.clients.probes import commands
from wireproof_kit.nsq.clients.script import Delivery, Script
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.driver.lines import Result
from wireproof_spec.strict_json import JsonValue

NOWHERE: list[JsonValue] = ["127.0.0.1:1"]


def check_client_driver(command: str) -> Iterator[Finding]:
    """Check the driver of an NSQ client: first its output, then what its client does.

    Yield a finding for each rule.

    Raises:
        UsageFault: the driver cannot be started.
    """
    return check_client(command, SETTINGS, {"lookupd": NOWHERE}, (_produces, _consumes))


def _produces(command: str) -> Finding:
    script = Script("producer", publishes=1)
    story = _play(command, script, "producer", lambda story: bool(list_answers(story, PRODUCE)))
    rule = "produce publishes the message, and answers with what the user is told"
    answered = next(iter(list_answers(story, PRODUCE)), None)
    wrong = explain_failure(story, PRODUCE)
    if not wrong and not commands(story, _PUBLISHES):
        wrong = "it answered ok, but nothing was published to the node"
    if not wrong and answered is not None and isinstance(answered.answer, Result):
        wrong = find_misfit("nsq/driver-receipt", answered.answer.fields)
    return Finding(rule, wrong)


def _consumes(command: str) -> Finding:
    script = Script("consumer", deliveries=(Delivery(),))
    story = _play(
        command, script, "consumer", lambda story: bool(story.of(Told) and _has_finished(story))
    )
    rule = "consume subscribes, writes an event for each message, and finishes it"
    wrong = explain_failure(story, CONSUME)
    messages = story.of(Told, lambda event: event.event.name == "message")
    if not wrong and not messages:
        wrong = "a message was delivered, and no event message was written"
    for event in messages[:1]:
        whole: dict[str, JsonValue] = {"event": event.event.name, **event.event.fields}
        wrong = wrong or find_misfit("nsq/driver-message", whole)
    if not wrong and not _has_finished(story):
        wrong = "the handler is to process the message, and no FIN was sent"
    return Finding(rule, wrong)


_PUBLISHES = frozenset({"PUB", "PUB_TRACE", "PUB_EXT", "MPUB"})


def _play(command: str, script: Script, role: Role, until: Until) -> Story:
    names = {"topic": "wp_check", "channel": "wp_check_c"}
    client = start_client(command, names, role, start_s=START_S, transcript=Transcript())
    return client.play(script, until)


def _has_finished(story: Story) -> bool:
    return bool(commands(story, frozenset({"FIN"})))
