"""Checks a driver of an Iggy client against the driver protocol, and against Iggy's additions."""

from collections.abc import Iterator

from wireproof_kit.clients.check import (
    START_S,
    check_client,
    explain_failure,
    explain_lack,
    find_misfit,
)
from wireproof_kit.clients.observe import answers
from wireproof_kit.clients.part import Role
from wireproof_kit.clients.story import Story
from wireproof_kit.drivers.check import Finding
from wireproof_kit.iggy.clients.client import SETTINGS, start_client
from wireproof_kit.iggy.clients.driver_requests import POLL, SEND, ask_poll, ask_send, settings
from wireproof_kit.iggy.clients.probes import ONE, polls, sends
from wireproof_kit.iggy.clients.script import TRANSPORTS, Operation, Script, Transport
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.driver.lines import Result, Unsupported

_NOWHERE = {
    "tcp": "127.0.0.1:1",
    "http": "127.0.0.1:1",
    "transport": "tcp",
    "stream": "1",
    "topic": "1",
    "partition": "1",
}


def check_client_driver(command: str) -> Iterator[Finding]:
    """Check the driver of an Iggy client: first its output, then what its client does.

    Yield a finding for each rule.

    Raises:
        UsageFault: the driver cannot be started.
    """
    requests = {asked.op: asked.fields for asked in (ask_poll(), ask_send([ONE]))}
    return check_client(command, SETTINGS, settings(_NOWHERE), requests, (_polls, _sends))


def _polls(command: str) -> Finding:
    story = _play(command, "consumer", ask_poll())
    rule = "poll polls, and answers with the messages that the user is given"
    if lacks := explain_lack(story, POLL):
        return Finding(rule, lacks=lacks)
    wrong = explain_failure(story, POLL)
    if not wrong and not polls(story):
        wrong = "it answered ok, but nothing was polled from the server"
    for answered in answers(story, POLL):
        if not wrong and isinstance(answered.answer, Result):
            wrong = find_misfit("iggy/driver-polled", answered.answer.fields)
    return Finding(rule, wrong)


def _sends(command: str) -> Finding:
    story = _play(command, "producer", ask_send([ONE]))
    rule = "send sends the messages, and answers when the server has"
    if lacks := explain_lack(story, SEND):
        return Finding(rule, lacks=lacks)
    wrong = explain_failure(story, SEND)
    if not wrong and not sends(story):
        wrong = "it answered ok, but nothing was sent to the server"
    return Finding(rule, wrong)


def _play(command: str, role: Role, operation: Operation) -> Story:
    """Play over the first transport that the driver does not say it lacks."""
    story = _play_over(TRANSPORTS[0], command, role, operation)
    for transport in TRANSPORTS[1:]:
        answered = answers(story, "open") + answers(story, operation.op)
        if any(isinstance(each.answer, Unsupported) for each in answered):
            story = _play_over(transport, command, role, operation)
    return story


def _play_over(transport: Transport, command: str, role: Role, operation: Operation) -> Story:
    client = start_client(command, role, start_s=START_S, transcript=Transcript())
    script = Script(role, transport, asks=(operation,))
    return client.play(script, lambda story: bool(answers(story, operation.op)))
