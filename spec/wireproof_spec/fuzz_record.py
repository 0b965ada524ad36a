"""The records of a fuzz campaign in a bundle: its findings, and its figures."""

import msgspec

from wireproof_spec.deviation_record import DeviationRecord
from wireproof_spec.step_record import Count, Size, StepRecord, TranscriptRecord


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
    are the seconds at which new cases killed the target, ``repeated_deaths`` counts its deaths of
    cases that were sent again. ``spared`` counts exercises of the kit's own clients that were left
    out since exercises had had their share of the time. ``gaps`` say what the campaign did not
    look at. ``unjudged`` counts the cases not all of whose answers could be judged, by why that
    was, frame and state.
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
    repeated_deaths: Count = 0
    spared: Count = 0
    gaps: tuple[str, ...] = ()
    unjudged: dict[str, dict[str, dict[str, Count]]] = {}
    coverage: dict[str, dict[str, dict[str, dict[str, Count]]]] = {}
