"""A named set of settings of the behaviour table."""

from dataclasses import dataclass

from wireproof_reference_impl.nsq.behaviour import Settings

CLAUSE = "clause"
PARSER = "parser"
VARIANT = "variant"

READERS = (
    "consume.batch consume.body-intact consume.header-intact consume.layout consume.no-header "
    "consume.plain-topic consume.version disk.no-ext-record dispatch.fallback dispatch.leave "
    "dispatch.not-ready dispatch.per-channel dispatch.to-matching dispatch.untagged "
    "http.accept http.header-stored http.trace-response http.value-exact http.x-nsqext "
    "http.x-nsqext-override parser.header-length parser.in-step parser.segmentation "
    "parser.truncated publish.accept publish.mpub-ext publish.pub-on-ext-topic "
    "publish.trace-response subscribe.support-needed upgrade.accept upgrade.again "
    "upgrade.old-messages upgrade.open-subscription"
)
"""Clauses of which some case reads a delivered message."""

PUBLISHERS = (
    "consume.no-header http.ext-missing http.x-nsqext parser.empty-body parser.header-length "
    "parser.in-step parser.segmentation parser.truncated publish.accept publish.header-json "
    "publish.header-name publish.header-strict publish.header-value publish.mpub-ext "
    "publish.ok-response publish.plain-topic publish.pub-on-ext-topic publish.trace-empty "
    "publish.trace-id-form publish.trace-response upgrade.accept upgrade.again"
)
"""Clauses of which some case looks at the answer to a publish."""


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
    broken = _clauses(breaks)
    others = tuple(each for each in _clauses(may_break) if each not in broken)
    return Preset(name, kind, text, settings, broken, others)


def variant(name: str, text: str, settings: Settings) -> Preset:
    """Return a legal variant."""
    return Preset(name, VARIANT, text, settings)


def _clauses(words: str) -> tuple[str, ...]:
    return tuple(f"ext.{word}" for word in words.split())
