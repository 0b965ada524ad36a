"""What the other cases sent last to a target that died."""

import time
from collections.abc import Iterable

from wireproof_kit.runner.instance import Instance
from wireproof_kit.verdicts.judge import UNSURE
from wireproof_kit.wire.transcript import Transcript

LISTED = 5

Sent = tuple[str, Transcript]
"""A case and its exchange."""


def may_have_sent(instance: Instance, transcript: Transcript) -> bool:
    """Return True unless a case has sent nothing; without the kit's objects it may send unseen."""
    return transcript.requests > 0 or not instance.arguments


def describe_others(case: str, is_open: Iterable[Sent], ended: Iterable[Sent]) -> str:
    """Return that a case need not be the culprit, with the others that sent last.

    Those that are open come first; without any, the last one that has ended is named.
    """
    now = time.monotonic()
    named, whose = _sort(case, is_open), "open then and last to send were"
    if not named:
        named, whose = _sort(case, ended)[:1], "last to send before it was"
    if not named:
        return ""
    told = [
        f"{name} ({now - exchange.sent_at_s:.3f} s before, {exchange.sent} bytes in all)"
        for name, exchange in named[:LISTED]
    ]
    more = f" and {len(named) - LISTED} more" if len(named) > LISTED else ""
    return f"; {UNSURE}: {whose} {', '.join(told)}{more}; --restart CMD finds it"


def _sort(case: str, exchanges: Iterable[Sent]) -> list[Sent]:
    """Return the other cases that have sent anything, the last one first."""
    sent = [(name, each) for name, each in exchanges if name != case and each.requests]
    return sorted(sent, key=lambda entry: entry[1].sent_at_s, reverse=True)
