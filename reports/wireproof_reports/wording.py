"""The words of a report: verdicts, levels and observations as sentences for people."""

import unicodedata
from dataclasses import dataclass

from wireproof_spec.clauses.catalogue import Level
from wireproof_spec.record import RepeatsRecord, Verdict
from wireproof_spec.wording import change_texts


@dataclass(frozen=True, slots=True)
class Word:
    """How reports show a verdict: sign, title and meaning; no sign without the title."""

    name: Verdict
    sign: str
    title: str
    meaning: str


VERDICT_WORDS: dict[Verdict, Word] = {
    word.name: word
    for word in (
        Word("pass", "✓", "pass", "The target did what the published text says."),
        Word(
            "reading",
            "≈",
            "other reading",
            "The text leaves a choice here. The target follows a registered reading other than "
            "the published wording, and follows it throughout.",
        ),
        Word(
            "fail",
            "✕",
            "fail",
            "The target did something that no reading of the text allows, or an answer it owed "
            "did not come while a control round trip on another connection was prompt.",
        ),
        Word(
            "known",
            "!",
            "known deviation",
            "It fails exactly as the deviations file says, and the entry has not expired. "
            "A different failure of the same case would count as new.",
        ),
        Word(
            "unsupported",
            "○",
            "unsupported",
            "It needs something that the target neither claims nor shows. The probe's exchange "
            "is the evidence.",
        ),
        Word(
            "inconclusive",
            "?",
            "inconclusive",
            "The experiment decided nothing: the target was slow as a whole, it had died, "
            "the sentinel that shows an absence did not come, or a failure could not be repeated.",
        ),
        Word("unstable", "±", "unstable", "Repeats of the same experiment came out differently."),
        Word("error", "#", "kit error", "Our own fault. It says nothing about the target."),
    )
}

UNCOUNTED = Word(
    "fail",
    "✕",
    "failed, not counted",
    "The target failed a clause whose level or origin this run does not count.",
)
"""How reports show failures that do not count for the exit code."""

LEVEL_MEANINGS: dict[Level, str] = {
    "must": "a text or a premise states it as what happens, or says needs, must or should not",
    "should": "the text expects it, or gives a rule whose violation it does not forbid",
    "may": "the text says could or may",
    "observed": "no text says so; real peers do",
}

CLAIM_WORDS: dict[str, tuple[str, str]] = {
    "shown": ("✓", "shown"),
    "absent": ("○", "not offered"),
    "broken": ("✕", "claimed, but broken"),
    "unknown": ("?", "not clear"),
}


def count_noun(number: int, noun: str) -> str:
    """Return a number with its noun: `1 case`, `2 cases`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def shown_time(microseconds: int) -> str:
    """Return a time in µs, ms or s, whichever fits its size."""
    if microseconds < 1000:
        return f"{microseconds} µs"
    if microseconds < 1_000_000:
        return f"{microseconds / 1000:.1f} ms"
    return f"{microseconds / 1_000_000:.2f} s"


def printable(data: bytes) -> str:
    """Return bytes as text where they are printable UTF-8, and with escapes elsewhere."""
    return escape_unprintable(data.decode("utf-8", "backslashreplace"))


def escape_unprintable(text: str) -> str:
    """Return a text with control, bidirectional and other unprintable characters escaped."""
    return "".join(sign if sign.isprintable() else _escape(sign) for sign in text)


def escape_acting(text: str) -> str:
    """Return a text of several lines with all that acts on its reader's screen escaped.

    Line feeds, tabs and spaces of all widths stay; controls and bidirectional signs do not.
    """
    if text.isprintable():
        return text
    return "".join(sign if _may_stand(sign) else _escape(sign) for sign in text)


def escape_members(value: object) -> object:
    """Return a JSON value in which every text, names included, is escaped likewise."""
    return change_texts(value, escape_acting)


def _may_stand(sign: str) -> bool:
    return sign.isprintable() or sign in "\n\t" or unicodedata.category(sign) == "Zs"


def readable(data: bytes) -> str:
    """Return bytes as ASCII text with a dot for each unprintable byte, as hex dumps show it."""
    return "".join(chr(byte) if 32 <= byte < 127 else "·" for byte in data)


def _escape(sign: str) -> str:
    return sign.encode("unicode_escape", "backslashreplace").decode("ascii")


def repeated(told: RepeatsRecord) -> str:
    """Return how often a failure was seen: ``5/5 repeats``, or by which case it is confirmed."""
    if told.confirmed_by:
        return f"confirmed by {told.confirmed_by}"
    return f"{told.same}/{told.runs} repeats" if told.runs > 1 else "seen once"
