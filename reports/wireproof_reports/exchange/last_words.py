"""The end of what a client wrote to stderr, which tells why its process ended."""

from wireproof_spec.clauses.cause import list_stderr
from wireproof_spec.step_record import TranscriptRecord

LINES = 6


def last_words(transcript: TranscriptRecord) -> tuple[str, ...]:
    """Return the last lines that a client wrote to stderr; none if it wrote nothing."""
    return tuple(list_stderr(transcript)[-LINES:])
