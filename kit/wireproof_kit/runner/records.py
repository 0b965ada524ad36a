"""What a run showed, in the form that a bundle stores."""

from collections.abc import Iterable

from wireproof_kit.observation import Difference, Observation
from wireproof_kit.wire.transcript import Step, Transcript
from wireproof_spec.record import DifferenceRecord, SeenRecord
from wireproof_spec.step_record import StepRecord, TranscriptRecord, pack_bytes


def transcript_record(transcript: Transcript) -> TranscriptRecord:
    """Return a transcript in the form that a bundle stores; nothing is left out."""
    return steps_record(transcript.steps())


def steps_record(steps: Iterable[Step]) -> TranscriptRecord:
    """Return steps of a transcript in the form that a bundle stores."""
    return TranscriptRecord(
        steps=tuple(
            StepRecord(
                at_us=step.at_us,
                conn=step.connection,
                kind=step.kind,
                length=len(step.data),
                parts=tuple((p.offset, p.length, p.label, p.wrong) for p in step.parts),
                note=step.note,
                **pack_bytes(step.data),
            )
            for step in steps
        )
    )


def seen_record(observation: Observation) -> SeenRecord:
    """Return an observation in the form that a bundle stores."""
    return SeenRecord(
        value=observation.value,
        overdue=observation.overdue,
        difference=difference_record(observation.difference),
        note=observation.note,
        evidence=observation.evidence,
    )


def difference_record(difference: Difference | None) -> DifferenceRecord | None:
    """Return a difference in the form that a bundle stores."""
    if difference is None:
        return None
    return DifferenceRecord(
        difference.field, difference.offset, difference.expected, difference.found
    )
