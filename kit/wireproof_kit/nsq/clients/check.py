"""Checks a driver of an NSQ client against the driver protocol, and against NSQ's additions."""

from collections.abc import Iterator

from wireproof_kit.clients.check import (
    START_S,
    check_client,
    explain_failure,
    explain_lack,
    find_misfit,
)
from wireproof_kit.clients.events import Told
from wireproof_kit.clients.observe import answers, any_of
from wireproof_kit.clients.part import Role, Until
from wireproof_kit.clients.story import Story
from wireproof_kit.drivers.check import Finding
from wireproof_kit.nsq.clients.client import NSQ_CLIENTS, SETTINGS, start_client
from wireproof_kit.nsq.clients.driver_requests import CONSUME, PRODUCE, Asking, driver_settings
from wireproof_kit.nsq.clients.heartbeats import is_answered
from wireproof_kit.nsq.clients.probes import commands
from wireproof_kit.nsq.clients.script import (
    LOOKUP_1,
    NODE_1,
    After,
    Beat,
    Delivery,
    Script,
    once,
)
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.driver.lines import Result
from wireproof_spec.strict_json import JsonValue

_NAMES = {"topic": "wp_check", "channel": "wp_check_c"}
LATE_S = 2.0
_NOWHERE = {LOOKUP_1: "127.0.0.1:1", NODE_1: "127.0.0.1:1"}


def check_client_driver(command: str) -> Iterator[Finding]:
    """Check the driver of an NSQ client: first its output, then what its client does.

    Yield a finding for each rule.

    Raises:
        UsageFault: the driver cannot be started.
    """
    settings = driver_settings(NSQ_CLIENTS.fill(Script("consumer"), _NOWHERE, _NAMES))
    asking = Asking(Script("consumer"), topic=_NAMES["topic"], channel=_NAMES["channel"])
    requests = {op: asking.request(op) for op in (CONSUME, PRODUCE)}
    return check_client(command, SETTINGS, settings, requests, (_produces, _consumes))


def _produces(command: str) -> Finding:
    script = Script("producer", publishes=1)
    story = _play(command, script, "producer", lambda story: bool(answers(story, PRODUCE)))
    rule = "produce publishes the message, and answers with what the user is told"
    answered = next(iter(answers(story, PRODUCE)), None)
    if lacks := explain_lack(story, PRODUCE):
        return Finding(rule, lacks=lacks)
    wrong = explain_failure(story, PRODUCE)
    if not wrong and not commands(story, _PUBLISHES):
        wrong = "it answered ok, but nothing was published to the node"
    if not wrong and answered is not None and isinstance(answered.answer, Result):
        wrong = find_misfit("nsq/driver-receipt", answered.answer.fields)
    return Finding(rule, wrong)


def _consumes(command: str) -> Finding:
    # A heartbeat answered two seconds later shows that nothing more comes.
    late = once("RDY", After(LATE_S, (Beat(),)))
    script = Script("consumer", deliveries=(Delivery(),), rules=(late,))
    story = _play(command, script, "consumer", any_of(_has_consumed, _answers_beat))
    rule = "consume subscribes, writes an event for each message, and finishes it"
    if lacks := explain_lack(story, CONSUME):
        return Finding(rule, lacks=lacks)
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
    client = start_client(command, _NAMES, role, start_s=START_S, transcript=Transcript())
    return client.play(script, until)


def _has_consumed(story: Story) -> bool:
    # A driver may write the event of a message before its answer to the request.
    return bool(answers(story, CONSUME)) and bool(story.of(Told)) and _has_finished(story)


def _answers_beat(story: Story) -> bool:
    return is_answered(story, "RDY", after=LATE_S)


def _has_finished(story: Story) -> bool:
    return bool(commands(story, frozenset({"FIN"})))
