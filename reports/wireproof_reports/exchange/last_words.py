"""The end of what a client wrote to stderr, which tells why its process ended."""

import re

from wireproof_reports.exchange.annotation import read_bytes
from wireproof_reports.exchange.evidence import STDERR
from wireproof_spec.step_record import TranscriptRecord

KEPT_BYTES = 8192
LINES = 6

_CRASH = re.compile(r"^(panic|fatal|thread|\S*(Error|Exception|Panic|Fault)\b)", re.IGNORECASE)


def last_words(transcript: TranscriptRecord) -> tuple[str, ...]:
    """Return the last lines that a client wrote to stderr; none if it wrote nothing."""
    return tuple(_lines(transcript)[-LINES:])


def crash_line(transcript: TranscriptRecord) -> str:
    """Return the line of stderr that names what ended a client, its numbers replaced by ``#``.

    It is the last line that begins as exceptions and panics do, else the last line of all.
    """
    lines = _lines(transcript)
    named = [line for line in lines if _CRASH.match(line)]
    last = (named or lines)[-1:]
    return re.sub(r"0x[0-9a-f]+|\d+", "#", last[0]) if last else ""


def _lines(transcript: TranscriptRecord) -> list[str]:
    steps = [step for step in transcript.steps if step.conn == STDERR]
    data = b"".join(map(read_bytes, steps))[-KEPT_BYTES:]
    lines = data.decode("utf-8", "backslashreplace").splitlines()
    return [line.rstrip() for line in lines if line.strip()]
