"""The root cause of a failure: what failures have in common that deviate in the same way."""

import hashlib
import re
from collections.abc import Iterable

from wireproof_spec.clauses.catalogue import matches
from wireproof_spec.clauses.loading import named_fault
from wireproof_spec.record import CaseRecord
from wireproof_spec.step_record import StepRecord, TranscriptRecord

UNREAD = frozenset({"undecodable", "nonsense"})
"""Words for bytes that have not the layout that is due, nor one that is known."""
ENDED = "ended:"
"""How the observation begins that a client's process ended."""
UNSPECIFIC = frozenset({"wrong", "undecodable", "other-layout"})
STDERR = "stderr"
KEPT_BYTES = 8192

_CRASH = re.compile(r"^(panic|fatal|thread|\S*(Error|Exception|Panic|Fault)\b)", re.IGNORECASE)


def cause_id(case: CaseRecord) -> str:
    """Return the id of a failure's root cause: 12 hex digits of its protocol and `cause_key`."""
    text = "\0".join((case.case.partition("/")[0], *cause_key(case)))
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:12]


def cause_key(case: CaseRecord) -> tuple[str, str, str]:
    """Return the clause, the first differing field and the class of the observed value.

    Clause and field are empty if the observation itself names the flaw, as
    ``trace:little-endian`` does: which clause and field show that flaw first depends on chance.
    They are empty, too, if bytes could not be read: in which field the reading fails depends on
    what each case sends. Of a client whose process ended, the field is the line of its stderr
    that says why.
    """
    if case.observation.startswith(ENDED):
        return "", _crash_line(case.transcript), case.observation
    if unread := _unread_part(case.observation):
        return "", "", unread
    if fault := named_fault(case.case, case.observation):
        return "", "", fault
    value = value_class(case.observation, case.accepted)
    _, named, flaw = value.partition(":")
    is_named = bool(named) and flaw not in UNSPECIFIC
    field = case.difference.field if case.difference and not is_named else ""
    return case.clause, field, value


def value_class(observation: str, accepted: Iterable[str]) -> str:
    """Return the part of an observation that deviates from what is accepted.

    The state of the connection counts only if the answer itself is accepted. The text of an
    unexpected response never counts.
    """
    answer = observation.partition(",")[0]
    answers = [pattern.partition(",")[0] for pattern in accepted]
    if matches(answer, answers):
        return observation
    kind, colon, _ = answer.partition(":")
    return "response:*" if colon and kind == "response" else answer


def list_stderr(transcript: TranscriptRecord) -> list[str]:
    """Return the last lines that a client wrote to stderr, of the last 8,192 bytes."""
    steps = [step for step in transcript.steps if step.conn == STDERR]
    data = b"".join(map(_bytes_of, steps))[-KEPT_BYTES:]
    lines = data.decode("utf-8", "backslashreplace").splitlines()
    return [line.rstrip() for line in lines if line.strip()]


def _crash_line(transcript: TranscriptRecord) -> str:
    """Return the line of stderr that names what ended a client, its numbers replaced by ``#``.

    It is the last line that begins as exceptions and panics do, else the last line of all.
    """
    lines = list_stderr(transcript)
    named = [line for line in lines if _CRASH.match(line)]
    last = (named or lines)[-1:]
    return re.sub(r"0x[0-9a-f]+|\d+", "#", last[0]) if last else ""


def _bytes_of(step: StepRecord) -> bytes:
    """Return the bytes of a step; empty if the record of them is damaged."""
    try:
        return step.data()
    except ValueError:
        return b""


def _unread_part(observation: str) -> str:
    """Return the part of an observation that says that bytes could not be read, or ""."""
    parts = observation.split(",")
    return next((part for part in parts if part.rpartition(":")[2] in UNREAD), "")
