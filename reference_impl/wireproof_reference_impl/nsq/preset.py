"""A named set of settings of the behaviour table."""

from dataclasses import dataclass

from wireproof_reference_impl.nsq.behaviour import Settings

CLAUSE = "clause"
PARSER = "parser"
VARIANT = "variant"


@dataclass(frozen=True, slots=True)
class Preset:
    """One fault or variant: what it is, which clauses it is about, and its settings.

    A fault breaks every clause of `breaks` and may break those of `may_break`; anything else it
    turns red is an error of the judge. A variant is legal and breaks nothing.
    """

    name: str
    kind: str
    text: str
    settings: Settings
    breaks: tuple[str, ...] = ()
    may_break: tuple[str, ...] = ()


def fault(
    name: str,
    text: str,
    *,
    breaks: str,
    settings: Settings,
    may_break: str = "",
    kind: str = CLAUSE,
) -> Preset:
    """Return a fault; clauses are given as words of one string, without their document."""
    return Preset(name, kind, text, settings, _clauses(breaks), _clauses(may_break))


def variant(name: str, text: str, settings: Settings) -> Preset:
    """Return a legal variant."""
    return Preset(name, VARIANT, text, settings)


def _clauses(words: str) -> tuple[str, ...]:
    return tuple(f"ext.{word}" for word in words.split())
