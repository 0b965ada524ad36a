"""Checks a driver of a client: first its lines, then what its client does."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from wireproof_kit.clients.events import BadLine
from wireproof_kit.clients.launch import check_command
from wireproof_kit.clients.observe import answers
from wireproof_kit.clients.story import Story
from wireproof_kit.drivers.check import Finding, check_driver
from wireproof_kit.drivers.child import split_command
from wireproof_spec import json_schema
from wireproof_spec.driver.lines import Failure, Fields, Unsupported
from wireproof_spec.strict_json import JsonValue

START_S = 30.0


def check_client(
    command: str,
    known: Sequence[str],
    settings: Fields,
    requests: Mapping[str, Fields],
    rules: Sequence[Callable[[str], Finding]],
) -> Iterator[Finding]:
    """Check the driver of a client: first its output; if that is right, the ``rules``.

    Yield a finding for each rule. ``known`` are the names that may stand in braces in the command,
    ``settings`` the fields of the request that opens the driver, ``requests`` those of a valid
    request for each operation.

    Raises:
        UsageFault: the driver cannot be started.
    """
    check_command(command, known, "--check-driver")
    wrong = False
    for finding in check_driver(split_command(command), settings=settings, requests=requests):
        wrong = wrong or bool(finding.wrong)
        yield finding
    if wrong:
        return
    lacking: list[str] = []
    for rule in rules:
        finding = rule(command)
        lacking += [finding.lacks] if finding.lacks else []
        yield finding
    if len(lacking) == len(rules):
        yield Finding("supports an operation of its client", ", ".join(lacking))


def explain_failure(story: Story, op: str) -> str:
    """Return a sentence why an operation of the driver failed; empty if it did not."""
    answered = next(iter(answers(story, op)), None)
    bad = story.first(BadLine)
    if bad is not None:
        return f"it {bad.fault}"
    if answered is None:
        return f"{op} was not answered"
    if isinstance(answered.answer, Failure):
        return f"{op} failed: {answered.answer.words}"
    return ""


def explain_lack(story: Story, op: str) -> str:
    """Return in words what of an operation the driver does not support; empty if it supports it.

    A driver plays one role or both: it need not support the operation of the other one.
    """
    for answered in answers(story, op):
        if isinstance(answered.answer, Unsupported):
            return f"{answered.answer.what} is unsupported"
    return ""


def find_misfit(schema: str, value: JsonValue) -> str:
    """Return a sentence on where a value breaks a JSON Schema; empty if it does not."""
    for fault in json_schema.check(schema, value):
        return f"{fault.pointer or 'the object'}: {fault.text}"
    return ""
