"""Checks a driver of an NSQ client against the driver protocol, and against NSQ's additions."""

from collections.abc import Iterator

from wireproof_kit.clients.events import Answered, BadLine, Told
from wireproof_kit.clients.launch import check_command
from wireproof_kit.clients.part import Role, Until
from wireproof_kit.clients.story import Story
from wireproof_kit.drivers.check import Finding, check_driver
from wireproof_kit.drivers.child import split_command
from wireproof_kit.nsq.clients.client import SETTINGS, start_client
from wireproof_kit.nsq.clients.driver_requests import CONSUME, PRODUCE
from wireproof_kit.nsq.clients.probes import commands
from wireproof_kit.nsq.clients.script import Delivery, Script
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec import json_schema
from wireproof_spec.driver.lines import Failure, Result, Unsupported
from wireproof_spec.strict_json import JsonValue

NOWHERE: list[JsonValue] = ["127.0.0.1:1"]
START_S = 30.0


def check_client_driver(command: str) -> Iterator[Finding]:
    """Yield findings about a driver: first its lines, then what its client does.

    Raises:
        UsageFault: the driver cannot be started.
    """
    check_command(command, SETTINGS)
    wrong = False
    for finding in check_driver(split_command(command), settings={"lookupd": NOWHERE}):
        wrong = wrong or bool(finding.wrong)
        yield finding
    if not wrong:
        yield _produces(command)
        yield _consumes(command)


def _produces(command: str) -> Finding:
    script = Script("producer", publishes=1)
    story = _play(command, script, "producer", lambda story: bool(_answers(story, PRODUCE)))
    rule = "produce publishes the message, and answers with what the user is told"
    answered = next(iter(_answers(story, PRODUCE)), None)
    wrong = _explain_failure(story, answered, PRODUCE)
    if not wrong and not commands(story, _PUBLISHES):
        wrong = "it answered ok, but nothing was published to the node"
    if not wrong and answered is not None and isinstance(answered.answer, Result):
        wrong = _misfit("nsq/driver-receipt", answered.answer.fields)
    return Finding(rule, wrong)


def _consumes(command: str) -> Finding:
    script = Script("consumer", deliveries=(Delivery(),))
    story = _play(
        command, script, "consumer", lambda story: bool(story.of(Told) and _has_finished(story))
    )
    rule = "consume subscribes, writes an event for each message, and finishes it"
    wrong = _explain_failure(story, next(iter(_answers(story, CONSUME)), None), CONSUME)
    messages = story.of(Told, lambda event: event.event.name == "message")
    if not wrong and not messages:
        wrong = "a message was delivered, and no event message was written"
    for event in messages[:1]:
        whole: dict[str, JsonValue] = {"event": event.event.name, **event.event.fields}
        wrong = wrong or _misfit("nsq/driver-message", whole)
    if not wrong and not _has_finished(story):
        wrong = "the handler is to process the message, and no FIN was sent"
    return Finding(rule, wrong)


_PUBLISHES = frozenset({"PUB", "PUB_TRACE", "PUB_EXT", "MPUB"})


def _play(command: str, script: Script, role: Role, until: Until) -> Story:
    names = {"topic": "wp_check", "channel": "wp_check_c"}
    client = start_client(command, names, role, start_s=START_S, transcript=Transcript())
    return client.play(script, until)


def _answers(story: Story, op: str) -> list[Answered]:
    return story.of(Answered, lambda event: event.op == op)


def _has_finished(story: Story) -> bool:
    return bool(commands(story, frozenset({"FIN"})))


def _explain_failure(story: Story, answered: Answered | None, op: str) -> str:
    """Say why an operation did not go well; empty if it did."""
    bad = story.first(BadLine)
    if bad is not None:
        return f"it {bad.fault}"
    if answered is None:
        return f"{op} was not answered"
    if isinstance(answered.answer, Failure):
        return f"{op} failed: {answered.answer.message}"
    if isinstance(answered.answer, Unsupported):
        return f"{op}: {answered.answer.what} is unsupported"
    return ""


def _misfit(schema: str, value: JsonValue) -> str:
    for fault in json_schema.check(schema, value):
        return f"{fault.pointer or 'the object'}: {fault.text}"
    return ""
