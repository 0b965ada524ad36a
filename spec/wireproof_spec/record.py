"""The records of a bundle: what one run leaves, one JSON object per line.

Records only grow: a new field has a default, a field never changes its meaning. Integers of the
wire that may exceed 2^53 are strings.
"""

from collections.abc import Iterable
from typing import Annotated, Literal, get_args
from urllib.parse import SplitResult, urlsplit

import msgspec

from wireproof_spec.clauses.catalogue import CLIENT, PROXY, Catalogue, Level, level_rank
from wireproof_spec.clauses.origin import BINDING
from wireproof_spec.deviation_record import DeviationRecord
from wireproof_spec.fuzz_record import CampaignRecord, FindingRecord
from wireproof_spec.step_record import Count, TranscriptRecord

FORMAT = 1

Verdict = Literal[
    "pass", "reading", "fail", "known", "unsupported", "inconclusive", "unstable", "error"
]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
CONCLUSIVE: frozenset[Verdict] = frozenset({"pass", "reading", "fail", "known"})

ControlState = Literal["prompt", "slow", "dead"]
ClaimState = Literal["shown", "absent", "broken", "unknown"]
ReadingChoice = Literal["any", "published", "deployed"]
_BROKEN = ("fail", "unstable")


class DifferenceRecord(msgspec.Struct, frozen=True):
    """The first field that differs; ``offset`` in bytes within its frame, record or body."""

    field: str
    offset: int | None
    expected: str
    found: str


class SeenRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """The observation of one repetition of a case, and the result of its control round trip.

    ``evidence`` are the indexes of the steps on which it rests, in the repetition's transcript.
    """

    value: str
    overdue: bool = False
    control: ControlState | None = None
    difference: DifferenceRecord | None = None
    note: str = ""
    evidence: tuple[Count, ...] = ()


class RepeatsRecord(msgspec.Struct, frozen=True):
    """How often a case was run, and how often its first observation was repeated.

    Only runs that decide something are counted. ``unrepeated`` says why no repeat of a failure
    did: a failure seen once is then undecided. ``confirmed_by`` is another case of the run that
    failed with the same signature in all its repeats, so that this one was not repeated. Both are
    empty in records from before this rule, whose failures count even if they were seen once.
    """

    runs: Count
    same: Count
    others: tuple[SeenRecord, ...] = ()
    unrepeated: str = ""
    confirmed_by: str = ""


class CaseRecord(msgspec.Struct, frozen=True, tag_field="kind", tag="case"):
    """The result of one case: what was observed, and the judge's verdict at the time of the run.

    ``level`` and ``origin`` are those of the clause when the case was judged; records from before
    revision 2 of the law have no origin. ``evidence`` are the indexes of the transcript's steps on
    which the observation rests; empty if the case does not say.
    """

    case: str
    case_hash: str
    clause: str
    level: Level
    title: str
    observation: str
    verdict: Verdict
    reason: str
    origin: str = ""
    overdue: bool = False
    control: ControlState | None = None
    difference: DifferenceRecord | None = None
    note: str = ""
    reading: str | None = None
    signature: str | None = None
    accepted: Annotated[tuple[str, ...], msgspec.Meta(max_length=1000)] = ()
    needs: tuple[str, ...] = ()
    repeats: RepeatsRecord = RepeatsRecord(runs=1, same=1)
    hazard: bool = False
    duration_us: Count = 0
    transcript: TranscriptRecord = TranscriptRecord()
    deviation: DeviationRecord | None = None
    evidence: tuple[Count, ...] = ()

    def list_seen(self) -> tuple[SeenRecord, ...]:
        """Return the first repetition of the case, and those with another observation."""
        first = SeenRecord(
            value=self.observation,
            overdue=self.overdue,
            control=self.control,
            difference=self.difference,
            note=self.note,
            evidence=self.evidence,
        )
        return (first, *self.repeats.others)


class WayRecord(msgspec.Struct, frozen=True, tag_field="kind", tag="way"):
    """What all deliveries of a run showed of one clause on one way, such as ``again+http``.

    ``result`` has the steps of the first breach, or of the first message that kept the clause; its
    id is made of protocol, clause and way. ``kept`` and ``broken`` count messages, ``cases`` name
    the first cases with a breach. Without ``counted``, it is only shown.
    """

    result: CaseRecord
    kept: Count
    broken: Count
    cases: tuple[str, ...] = ()
    counted: bool = False


def list_counted(ways: Iterable[WayRecord]) -> list[CaseRecord]:
    """Return the results of the ways that count."""
    return [way.result for way in ways if way.counted]


def list_broken(ways: Iterable[WayRecord]) -> list[CaseRecord]:
    """Return the results of the ways that count and did not hold, to be told beside cases."""
    return [way.result for way in ways if way.counted and way.result.verdict in _BROKEN]


class ClaimRecord(msgspec.Struct, frozen=True):
    """What the probe of a capability showed, with the exchange as evidence."""

    state: ClaimState
    observation: str
    claimed: bool = False
    transcript: TranscriptRecord = TranscriptRecord()
    note: str = ""


class BindingRecord(msgspec.Struct, frozen=True):
    """The reading that a run uses for a decision; None if the probe showed no registered one.

    ``observation`` is ``unavailable`` if the probe could not be run.
    """

    reading: str | None
    observation: str
    transcript: TranscriptRecord = TranscriptRecord()
    note: str = ""


class TargetRecord(msgspec.Struct, frozen=True):
    """The target that was judged; ``fingerprint`` has the properties that the target reports.

    ``role``: ``client``; ``proxy`` for traffic between clients and a broker; or empty.
    """

    url: str
    protocol: str
    fingerprint: dict[str, str] = {}
    given: tuple[str, ...] = ()
    role: str = ""

    def parts(self) -> SplitResult:
        """Return the parts of the target's URL; all are empty if the record has no valid URL."""
        try:
            return urlsplit(self.url)
        except ValueError:
            return urlsplit("")

    def is_client(self) -> bool:
        """Return True if the target is a client."""
        return self.role == CLIENT

    def is_traffic(self) -> bool:
        """Return True if the traffic between clients and a broker was judged."""
        return self.role == PROXY

    def name(self) -> str:
        """Return what a reader knows the target by: a client's command, else its title."""
        return self.url.partition(":")[2] if self.is_client() else self.title

    @property
    def title(self) -> str:
        """The target's URL, or words for the traffic between clients and it."""
        return f"traffic between clients and {self.url}" if self.is_traffic() else self.url

    def narrow(self, catalogue: Catalogue) -> Catalogue:
        """Return the clauses for the target: for clients, for brokers, or for a proxy all."""
        is_client = self.is_client()
        return catalogue if self.is_traffic() else catalogue.for_target(is_client=is_client)


WITHHELD = "withheld"
"""In the patience of a header: so many seconds nothing came that the target had acknowledged."""


class HeaderRecord(msgspec.Struct, frozen=True, tag_field="kind", tag="header"):
    """The first line of a bundle: what was judged, when, and with which options.

    A failure counts up to the level ``profile``, and a must only if its origin is in ``origins``.
    ``narrowed`` are the options that left cases out besides the selection: ``-k trace``, ``--lf``.
    Clauses of a later revision than ``spec_rev`` were left out; 0 means none.
    """

    format: Count
    kit: str
    spec: dict[str, Count]
    seed: int
    target: TargetRecord
    claims: dict[str, ClaimRecord]
    readings: dict[str, BindingRecord]
    patience: dict[str, float]
    profile: Level = "must"
    origins: tuple[str, ...] = BINDING
    reading: ReadingChoice = "any"
    selection: tuple[str, ...] = ()
    not_selected: dict[str, str] = {}
    narrowed: tuple[str, ...] = ()
    started: str = ""
    command: str = ""
    spec_rev: Count = 0

    def counts(self, level: str, origin: str) -> bool:
        """Return True if a failure at this level, from this origin, counts for the exit code.

        A must whose origin is not recorded counts.
        """
        return not self.leaves_out(level, origin) and level_rank(level) <= level_rank(self.profile)

    def leaves_out(self, level: str, origin: str) -> bool:
        """Return True if this level is must and the run was not asked to count this origin."""
        return level == "must" and origin in set(BINDING) - set(self.origins)

    def pinned(self) -> str:
        """Return to which clauses the run was pinned, or an empty text."""
        return f"only clauses up to revision {self.spec_rev}" if self.spec_rev else ""

    def list_left_out(self) -> dict[str, list[str]]:
        """Return the clause groups that are not selected, by the reason why."""
        groups: dict[str, list[str]] = {}
        for group, why in self.not_selected.items():
            groups.setdefault(why, []).append(group)
        return groups

    def waits(self) -> str:
        """Return the limits of the waits in words: ``answer 1 s, push 3 s``."""
        limits = ((name, each) for name, each in self.patience.items() if name != WITHHELD)
        return ", ".join(f"{name} {seconds:g} s" for name, seconds in limits if seconds)

    def scope(self) -> str:
        """Return which failures count: ``level must``, or ``level must (origin text, base)``."""
        few = "" if set(self.origins) >= set(BINDING) else f" (origin {', '.join(self.origins)})"
        return f"level {self.profile}{few}"


class GroupRecord(msgspec.Struct, frozen=True):
    """The result of a clause group: ``counts`` maps a level to (conforming, asserted) cases.

    ``origins`` has the same for the musts alone, by origin. ``asked`` is level → how many cases
    the law has for the group, ``unsupported`` how many of them were not run because the target
    lacks what they need.

    ``judged`` is true only when every core clause of the group was asserted; ``whole`` says
    that the selection asked for the whole group.
    """

    group: str
    title: str
    judged: bool
    whole: bool
    why: str = ""
    counts: dict[str, tuple[Count, Count]] = {}
    origins: dict[str, tuple[Count, Count]] = {}
    asked: dict[str, Count] = {}
    unsupported: dict[str, Count] = {}


class FooterRecord(msgspec.Struct, frozen=True, tag_field="kind", tag="footer"):
    """The last line of a bundle: statement, counts, and a hash of all bytes before the line."""

    verdicts: dict[str, Count]
    groups: tuple[GroupRecord, ...]
    coverage: dict[str, Count]
    exit: Annotated[int, msgspec.Meta(ge=0, le=255)]
    statement: str
    stale: tuple[str, ...] = ()
    expired: tuple[str, ...] = ()
    interrupted: bool = False
    sha256: str = ""
    ways: dict[str, Count] = {}
    """How many of the ways that count have each verdict."""
    duration_us: Count = 0
    """From the start of the first case to the end of the last; cases run side by side."""


BundleRecord = (
    HeaderRecord | CaseRecord | WayRecord | FindingRecord | CampaignRecord | FooterRecord
)
