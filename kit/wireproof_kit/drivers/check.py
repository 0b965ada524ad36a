"""Checks any driver against the driver protocol, with one finding for each rule."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from wireproof_kit.drivers.driver import Driver
from wireproof_kit.errors import KitError, TargetSilent, TargetUnreachable
from wireproof_spec.driver.lines import Answer, Fields, Unsupported, show_answer

CheckDriver: TypeAlias = "Callable[[str], Iterator[Finding]]"
UNKNOWN_OPERATION = "wireproof-no-such-operation"
UNKNOWN_MEMBER = "wireproof-no-such-member"
END_WITHIN_S = 5.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One checked rule of the driver protocol, and in ``wrong`` how a driver breaks it, if so.

    ``lacks`` says that the driver does not support what the rule is about, which it need not.
    """

    rule: str
    wrong: str = ""
    lacks: str = ""


def check_driver(
    words: Sequence[str],
    *,
    settings: Fields | None = None,
    requests: Mapping[str, Fields] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Finding]:
    """Start a driver and yield a finding for each rule, until the driver no longer answers.

    ``requests`` has the fields of a valid request for each operation that the driver may support.

    Raises:
        UsageFault: the driver cannot be started.
    """
    rule = "greets first, and is opened"
    try:
        driver = Driver.start(words, settings=settings, environment=environment)
    except (TargetUnreachable, TargetSilent) as error:
        yield Finding(rule, str(error))
        return
    yield Finding(rule)
    try:
        yield from _operations(driver, requests or {})
    finally:
        driver.close(within=0)


def _operations(driver: Driver, requests: Mapping[str, Fields]) -> Iterator[Finding]:
    rule = "answers an operation it does not know with unsupported"
    try:
        answer = driver.request(UNKNOWN_OPERATION)
        yield Finding(rule, _instead(answer, UNKNOWN_OPERATION))
        rule = "answers a request that has a member it does not know with unsupported"
        for op, fields in requests.items():
            answer = driver.request(op, {**fields, UNKNOWN_MEMBER: True})
            if answer != Unsupported(answer.id, op):  # else it may support another operation
                yield Finding(rule, _instead(answer, UNKNOWN_MEMBER))
                break
        rule = "answers close and ends with exit code 0"
        driver.request("close")
        driver.child.close_input()
        driver.child.wait(END_WITHIN_S)
        yield Finding(rule, _check_ending(driver))
    except KitError as error:
        yield Finding(rule, str(error))


def _instead(answer: Answer, unknown: str) -> str:
    if isinstance(answer, Unsupported):
        return ""
    return (
        f"expected {show_answer(Unsupported(answer.id, unknown))}; "
        f"found {show_answer(answer)}. "
        "A driver that takes what it does not know hides what it cannot do"
    )


def _check_ending(driver: Driver) -> str:
    code = driver.child.exit_code()
    if code is None:
        return f"it still runs {END_WITHIN_S:g} s after it was closed and its input has ended"
    if breach := driver.find_breach():
        return f"behind the answer to close, it {breach}"
    return f"it ended with exit code {code}" if code else ""
