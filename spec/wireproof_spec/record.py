"""The records of a bundle: what one run leaves, one JSON object per line.

Records only grow: a new field has a default, a field never changes its meaning. Integers of the
wire that may exceed 2^53 are strings.
"""

import base64
import zlib
from collections.abc import Iterable
from typing import Annotated, Literal, TypedDict, get_args
from urllib.parse import SplitResult, urlsplit

import msgspec

from wireproof_spec.clauses.catalogue import CLIENT, PROXY, Catalogue, Level, level_rank
from wireproof_spec.clauses.origin import BINDING

FORMAT = 1

Verdict = Literal[
    "pass", "reading", "fail", "known", "unsupported", "inconclusive", "unstable", "error"
]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
CONCLUSIVE: frozenset[Verdict] = frozenset({"pass", "reading", "fail", "known"})

ControlState = Literal["prompt", "slow", "dead"]
ClaimState = Literal["shown", "absent", "broken", "unknown"]
ReadingChoice = Literal["any", "published", "deployed"]
Count = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
"""A number of things, or of microseconds; what reads bundles keeps it in 64 bits."""
Size = Annotated[int, msgspec.Meta(ge=0, le=64 << 20)]
"""Bytes of one step; ours, eight times the largest that a case sends."""
_DEFLATE_ABOVE = 4096
_BROKEN = ("fail", "unstable")


class StepRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """One event on one connection in a bundle; ``at_us``: microseconds since the case started.

    The bytes are in ``hex``, or compressed (zlib, base64) in ``deflate`` if long. ``parts`` are
    (offset, length, label, made wrong on purpose).
    """

    at_us: Count
    conn: str
    kind: str
    hex: str = ""
    deflate: str = ""
    length: Size = 0
    parts: tuple[tuple[Count, Count, str, bool], ...] = ()
    note: str = ""

    def data(self) -> bytes:
        """Return the bytes of the event; at most ``length`` bytes are decompressed.

        Raises:
            ValueError: the record's hex, base64 or deflated data is damaged.
        """
        if not self.deflate:
            return bytes.fromhex(self.hex)
        inflater = zlib.decompressobj()
        try:
            data = inflater.decompress(base64.b64decode(self.deflate, validate=True), self.length)
        except zlib.error as error:
            raise ValueError(str(error)) from error
        if len(data) != self.length or inflater.unconsumed_tail:
            raise ValueError(f"expected {self.length} bytes; the deflated data has others")
        return data


class Packed(TypedDict, total=False):
    """The bytes of a step record, in one of two fields: ``hex``, or compressed in ``deflate``."""

    hex: str
    deflate: str


def pack_bytes(data: bytes) -> Packed:
    """Return bytes as the field of a step record: ``hex``, or compressed in ``deflate``."""
    if len(data) <= _DEFLATE_ABOVE:
        return {"hex": data.hex()}
    return {"deflate": base64.b64encode(zlib.compress(data, 6)).decode()}


class TranscriptRecord(msgspec.Struct, frozen=True):
    """All events of one case or probe."""

    steps: tuple[StepRecord, ...] = ()


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


class DeviationRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """The entry of the user's deviations file that lists a failure as known.

    ``id`` is the entry's case id or prefix, ``expires`` its last day (ISO 8601). An ``expired``
    entry has no effect: the verdict stays ``fail``.
    """

    id: str
    expires: str
    expired: bool = False


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

    @property
    def title(self) -> str:
        """The target's URL, or words for the traffic between clients and it."""
        return f"traffic between clients and {self.url}" if self.is_traffic() else self.url

    def narrow(self, catalogue: Catalogue) -> Catalogue:
        """Return the clauses for the target: for clients, for brokers, or for a proxy all."""
        is_client = self.is_client()
        return catalogue if self.is_traffic() else catalogue.for_target(is_client=is_client)


class HeaderRecord(msgspec.Struct, frozen=True, tag_field="kind", tag="header"):
    """The first line of a bundle: what was judged, when, and with which options.

    A failure counts up to the level ``profile``, and a must only if its origin is in ``origins``.
    ``narrowed`` are the options that left cases out besides the selection: ``-k trace``, ``--lf``.
    """

    format: Count
    kit: str
    spec: dict[str, int]
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

    def counts(self, level: str, origin: str) -> bool:
        """Return True if a failure at this level, from this origin, counts for the exit code.

        A must whose origin is not recorded counts.
        """
        return not self.leaves_out(level, origin) and level_rank(level) <= level_rank(self.profile)

    def leaves_out(self, level: str, origin: str) -> bool:
        """Return True if this level is must and the run was not asked to count this origin."""
        return level == "must" and origin in set(BINDING) - set(self.origins)

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
    counts: dict[str, tuple[int, int]] = {}
    origins: dict[str, tuple[int, int]] = {}
    asked: dict[str, int] = {}
    unsupported: dict[str, int] = {}


class FooterRecord(msgspec.Struct, frozen=True, tag_field="kind", tag="footer"):
    """The last line of a bundle: statement, counts, and a hash of all bytes before the line."""

    verdicts: dict[str, int]
    groups: tuple[GroupRecord, ...]
    coverage: dict[str, int]
    exit: Annotated[int, msgspec.Meta(ge=0, le=255)]
    statement: str
    stale: tuple[str, ...] = ()
    expired: tuple[str, ...] = ()
    interrupted: bool = False
    sha256: str = ""
    ways: dict[str, int] = {}
    """How many of the ways that count have each verdict."""


class SentRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """Bytes that a fuzz case sends on connection ``conn``, and how they are written.

    ``manner`` is whole, split, bytewise, together, half-close, slow or hold; ``cuts`` are
    offsets.
    """

    conn: Count = 0
    hex: str = ""
    deflate: str = ""
    length: Size = 0
    manner: str = "whole"
    cuts: tuple[int, ...] = ()
    seconds: float = 0.0
    label: str = ""

    def data(self) -> bytes:
        """Return the bytes that are sent.

        Raises:
            ValueError: the record's hex, base64 or deflated data is damaged.
        """
        step = StepRecord(0, "", "send", self.hex, self.deflate, self.length)
        return step.data()


class FuzzCaseRecord(msgspec.Struct, frozen=True):
    """A case of the fuzzer: what was mutated where, and what is sent."""

    index: int
    state: str
    frame: str
    field: str
    mutation: str
    sent: tuple[SentRecord, ...]
    delimited: bool = False
    hazardous: bool = False


class FindingRecord(msgspec.Struct, frozen=True, tag_field="kind", tag="finding"):
    """A finding of the fuzzer: a violated rule, with the fewest fuzz cases that show it.

    ``id`` is a hash of the rule, state, frame, field and class of answer. The finding showed in
    ``shown`` of ``runs`` repetitions and was seen ``seen`` times; ``unconfirmed`` says why it
    could not be repeated. ``names`` are the names on the target that the bytes contain; ``log``
    is what the target wrote before it died.
    """

    id: str
    violated: str
    words: str
    state: str
    frame: str
    field: str
    answer: str
    seed: int
    shown: Count
    runs: Count
    seen: Count
    at_s: float
    cases: tuple[FuzzCaseRecord, ...]
    names: dict[str, str] = {}
    transcript: TranscriptRecord = TranscriptRecord()
    deviation: DeviationRecord | None = None
    unconfirmed: str = ""
    log: str = ""


class CampaignRecord(msgspec.Struct, frozen=True, tag_field="kind", tag="campaign"):
    """The figures of a fuzz campaign: how many cases, pipelined and single, in how many seconds.

    ``coverage`` counts cases by frame, field, mutation and state. ``unwatched_s`` is the time from
    which the process was no longer observed, because another one had taken its place. ``deaths``
    are the seconds at which batches of new cases killed the target.
    """

    seed: int
    seconds: float
    executed: Count
    in_frame: Count
    in_frame_s: float
    reconnecting: Count
    reconnecting_s: float
    skipped: Count = 0
    left_out: Count = 0
    not_again: Count = 0
    hunting_s: float = 0.0
    next_batch: Count = 0
    workers: Count = 1
    unwatched_s: float | None = None
    deaths: tuple[float, ...] = ()
    coverage: dict[str, dict[str, dict[str, dict[str, int]]]] = {}


BundleRecord = (
    HeaderRecord | CaseRecord | WayRecord | FindingRecord | CampaignRecord | FooterRecord
)
