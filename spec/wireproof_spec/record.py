"""The result record: what one run leaves in its bundle, one JSON object a line.

Additive only: a new field has a default, a field never changes its meaning. Integers of the
wire that may exceed 2^53 stand as strings.
"""

import base64
import zlib
from typing import Annotated, Literal, TypedDict
from urllib.parse import SplitResult, urlsplit

import msgspec

FORMAT = 1

Verdict = Literal[
    "pass", "reading", "fail", "known", "unsupported", "inconclusive", "unstable", "error"
]
VERDICTS: tuple[Verdict, ...] = (
    "pass",
    "reading",
    "fail",
    "known",
    "unsupported",
    "inconclusive",
    "unstable",
    "error",
)
CONCLUSIVE: frozenset[Verdict] = frozenset({"pass", "reading", "fail", "known"})

ControlState = Literal["prompt", "slow", "dead"]
ClaimState = Literal["shown", "absent", "broken", "unknown"]
Level = Literal["must", "should", "may", "observed"]
ReadingChoice = Literal["any", "published", "deployed"]
Count = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
"""A number of things, or of microseconds; what reads bundles keeps it in 64 bits."""
Size = Annotated[int, msgspec.Meta(ge=0, le=64 << 20)]
"""Bytes of one step; ours, eight times the largest that a case sends."""

_DEFLATE_ABOVE = 4096


class StepRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """One event on one connection; ``at_us`` counts from the start of the case.

    The bytes stand in ``hex``, or deflated (zlib, base64) in ``deflate`` when long.
    ``parts`` are (offset, length, label, made wrong on purpose).
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
        """Return the step's bytes; never more than ``length`` are inflated.

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
    """The one field of a step record that holds its bytes."""

    hex: str
    deflate: str


def packed(data: bytes) -> Packed:
    """Return the field that holds these bytes in a step record: ``hex`` or ``deflate``."""
    if len(data) <= _DEFLATE_ABOVE:
        return {"hex": data.hex()}
    return {"deflate": base64.b64encode(zlib.compress(data, 6)).decode()}


class TranscriptRecord(msgspec.Struct, frozen=True):
    """All events of one case or probe."""

    steps: tuple[StepRecord, ...] = ()


class DifferenceRecord(msgspec.Struct, frozen=True):
    """The first differing field; ``offset`` in bytes within its frame, record or body."""

    field: str
    offset: int | None
    expected: str
    found: str


class SeenRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """One repetition's observation, and what the control round trip said if one was needed."""

    value: str
    overdue: bool = False
    control: ControlState | None = None
    difference: DifferenceRecord | None = None
    note: str = ""


class RepeatsRecord(msgspec.Struct, frozen=True):
    """How often the case was run and how often its first observation came again."""

    runs: Count
    same: Count
    others: tuple[SeenRecord, ...] = ()


class DeviationRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """The entry of the deviations file that lists exactly this failure.

    ``id`` is the entry's case id or prefix, ``expires`` its last day (ISO 8601). An ``expired``
    entry excuses nothing: the verdict stays ``fail``.
    """

    id: str
    expires: str
    expired: bool = False


class CaseRecord(msgspec.Struct, frozen=True, tag_field="kind", tag="case"):
    """One case: what was observed, and the judge's verdict at the time of the run."""

    case: str
    case_hash: str
    clause: str
    level: Level
    title: str
    observation: str
    verdict: Verdict
    reason: str
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

    def seen(self) -> tuple[SeenRecord, ...]:
        """Return the first repetition, and those that came out otherwise."""
        first = SeenRecord(
            value=self.observation,
            overdue=self.overdue,
            control=self.control,
            difference=self.difference,
            note=self.note,
        )
        return (first, *self.repeats.others)


class ClaimRecord(msgspec.Struct, frozen=True):
    """A capability, what its probe showed, and the exchange as evidence."""

    state: ClaimState
    observation: str
    claimed: bool = False
    transcript: TranscriptRecord = TranscriptRecord()


class BindingRecord(msgspec.Struct, frozen=True):
    """A decision's reading for this target, or None when the probe showed no registered one.

    ``observation`` is ``unavailable`` when the probe could not be run.
    """

    reading: str | None
    observation: str
    transcript: TranscriptRecord = TranscriptRecord()


class TargetRecord(msgspec.Struct, frozen=True):
    """Who was judged. ``fingerprint`` holds what the target says of itself."""

    url: str
    protocol: str
    fingerprint: dict[str, str] = {}
    given: tuple[str, ...] = ()

    def parts(self) -> SplitResult:
        """Return the parts of the URL; none of them where the record holds no URL."""
        try:
            return urlsplit(self.url)
        except ValueError:
            return urlsplit("")


class HeaderRecord(msgspec.Struct, frozen=True, tag_field="kind", tag="header"):
    """The first line of a bundle."""

    format: Count
    kit: str
    spec: dict[str, int]
    seed: int
    target: TargetRecord
    claims: dict[str, ClaimRecord]
    readings: dict[str, BindingRecord]
    patience: dict[str, float]
    profile: Level = "must"
    reading: ReadingChoice = "any"
    selection: tuple[str, ...] = ()
    not_selected: dict[str, str] = {}
    started: str = ""
    command: str = ""


class GroupRecord(msgspec.Struct, frozen=True):
    """A clause group's standing: level → (conforming, asserted) cases.

    ``judged`` is true only when every core clause of the group was asserted; ``whole`` says
    that the selection asked for the whole group.
    """

    group: str
    title: str
    judged: bool
    whole: bool
    why: str = ""
    counts: dict[str, tuple[int, int]] = {}


class FooterRecord(msgspec.Struct, frozen=True, tag_field="kind", tag="footer"):
    """The last line: the statement, and a hash over all bytes before this line."""

    verdicts: dict[str, int]
    groups: tuple[GroupRecord, ...]
    coverage: dict[str, int]
    exit: Annotated[int, msgspec.Meta(ge=0, le=255)]
    statement: str
    stale: tuple[str, ...] = ()
    expired: tuple[str, ...] = ()
    interrupted: bool = False
    sha256: str = ""


class SentRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """Bytes that a finding's case sends on its connection number ``conn``, and how.

    ``manner`` is whole, split, bytewise, together, half-close or slow; ``cuts`` are offsets.
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
        """Return the bytes.

        Raises:
            ValueError: the record's hex, base64 or deflated data is damaged.
        """
        step = StepRecord(0, "", "send", self.hex, self.deflate, self.length)
        return step.data()


class FuzzCaseRecord(msgspec.Struct, frozen=True):
    """A case of the fuzzer: what was made wrong where, and what is sent."""

    index: int
    state: str
    frame: str
    field: str
    mutation: str
    sent: tuple[SentRecord, ...]
    delimited: bool = False
    hazardous: bool = False


class FindingRecord(msgspec.Struct, frozen=True, tag_field="kind", tag="finding"):
    """Something a broker owed and did not do, with the fewest cases that show it.

    ``id`` is a hash over what was violated, state, frame, field and class of answer. It showed
    in ``shown`` of ``runs`` repetitions and was seen ``seen`` times; ``unconfirmed`` says why it
    could not be repeated. ``names`` are those that the bytes name on the target.
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


class CampaignRecord(msgspec.Struct, frozen=True, tag_field="kind", tag="campaign"):
    """What a campaign of the fuzzer came to: cases and seconds of both ways to send.

    ``coverage`` counts cases by frame, field, mutation and state. ``unwatched_s`` says from when
    on nobody watched the process that was to be watched: another one has taken its place.
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
    coverage: dict[str, dict[str, dict[str, dict[str, int]]]] = {}


BundleRecord = HeaderRecord | CaseRecord | FindingRecord | CampaignRecord | FooterRecord
