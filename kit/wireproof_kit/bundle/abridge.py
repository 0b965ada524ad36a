"""Keeps long exchanges short enough to be read again: their beginning and their end.

A target that floods a case would otherwise make a bundle that exceeds the limits of its reader.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from wireproof_spec.record import BindingRecord, CaseRecord, ClaimRecord, HeaderRecord
from wireproof_spec.step_record import StepRecord, TranscriptRecord, pack_bytes

Probe = TypeVar("Probe", ClaimRecord, BindingRecord)

ROOM = 8 << 20
"""The cost of the longest exchange that is kept whole; the largest of real brokers cost 6 MiB."""
SMALL_ROOM = 16 << 10
"""The same once all exchanges of a bundle cost ``MOST``."""
MOST = 64 << 20
_STEP, _PART, _INFLATED = 400, 170, 4
"""What a step and a part cost, and how many inflated bytes cost one: so much less than a limit of
the reader allows that 4,000 cases with ``SMALL_ROOM`` stay within all of them."""


@dataclass(slots=True)
class Abridger:
    """Keeps the exchanges of one bundle within what its reader takes."""

    _spent: int = 0

    def shorten(self, record: CaseRecord) -> CaseRecord:
        """Return a record whose exchange fits; its evidence is kept and numbered anew."""
        room = ROOM if self._spent < MOST else SMALL_ROOM
        steps, evidence = record.transcript.steps, record.evidence
        total = sum(map(_cost, steps))
        if total > room:
            steps, evidence = _shorten(steps, evidence, room)
            transcript = TranscriptRecord(steps)
            record = msgspec.structs.replace(record, transcript=transcript, evidence=evidence)
            total = sum(map(_cost, steps))
        self._spent += total
        return record


def shorten_header(header: HeaderRecord) -> HeaderRecord:
    """Return a header whose exchanges, those of all probes, fit together into one line."""
    probes: list[ClaimRecord | BindingRecord] = [
        *header.claims.values(),
        *header.readings.values(),
    ]
    if sum(_cost(step) for probe in probes for step in probe.transcript.steps) <= ROOM:
        return header
    room = ROOM // len(probes)

    def shorter(probe: Probe) -> Probe:
        steps, _ = _shorten(probe.transcript.steps, (), room)
        return msgspec.structs.replace(probe, transcript=TranscriptRecord(steps))

    return msgspec.structs.replace(
        header,
        claims={name: shorter(claim) for name, claim in header.claims.items()},
        readings={name: shorter(bound) for name, bound in header.readings.items()},
    )


def _cost(step: StepRecord) -> int:
    packed = len(step.hex) + len(step.deflate)
    return packed + step.length // _INFLATED + _STEP + _PART * len(step.parts)


def _shorten(
    steps: Sequence[StepRecord], evidence: Sequence[int], room: int
) -> tuple[tuple[StepRecord, ...], tuple[int, ...]]:
    """Return the first and the last steps, and those of the evidence, with gaps as notes."""
    steps = [step if _cost(step) <= room // 8 else _cut(step, room // 64) for step in steps]
    kept = set[int]()
    numbers = range(len(steps))
    for wanted, share in (
        (evidence, room // 4),
        (numbers, room // 4),
        (reversed(numbers), room // 4),
    ):
        kept |= _fill(steps, [number for number in wanted if number not in kept], share)
    shorter, moved, last = list[StepRecord](), dict[int, int](), -1
    for number in sorted(kept):
        if number > last + 1:
            shorter.append(_gap(steps[last + 1 : number]))
        moved[number], last = len(shorter), number
        shorter.append(steps[number])
    return tuple(shorter), tuple(moved[number] for number in evidence if number in moved)


def _fill(steps: Sequence[StepRecord], wanted: Iterable[int], room: int) -> set[int]:
    filled = set[int]()
    for number in wanted:
        if number < len(steps):
            room -= _cost(steps[number])
            if room < 0:
                break
            filled.add(number)
    return filled


def _gap(steps: Sequence[StepRecord]) -> StepRecord:
    size = sum(step.length for step in steps)
    note = f"{len(steps)} steps with {size} bytes are left out: the exchange is too long"
    return StepRecord(at_us=steps[0].at_us, conn=steps[0].conn, kind="note", note=note)


def _cut(step: StepRecord, most: int) -> StepRecord:
    try:
        data = step.data()[:most]
    except ValueError:  # damaged: `judge` writes what it has read
        data = b""
    return StepRecord(
        at_us=step.at_us,
        conn=step.conn,
        kind=step.kind,
        length=len(data),
        parts=tuple(part for part in step.parts if part[0] + part[1] <= most)[:most],
        note=f"{step.note} (the first {len(data)} of {step.length} bytes)".strip(),
        **pack_bytes(data),
    )
