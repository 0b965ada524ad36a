"""What a run showed, in the form that a bundle stores."""

from collections.abc import Iterable

from wireproof_kit.observation import Difference, Observation, observed
from wireproof_kit.runner.instance import Instance
from wireproof_kit.runner.troubles import Outcome
from wireproof_kit.verdicts.judge import (
    UNAVAILABLE,
    JudgeContext,
    JudgedRuns,
    Judgement,
    judge,
    judge_run,
)
from wireproof_kit.wire.transcript import Step, Transcript
from wireproof_spec.record import CaseRecord, DifferenceRecord, SeenRecord
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


def record_unsupported(instance: Instance, bench: JudgeContext) -> CaseRecord:
    """Return the record of a case that is not run because the target lacks a capability."""
    runs = JudgedRuns(judge_run(SeenRecord(UNAVAILABLE), instance.law, bench))
    return make_record(instance, runs, Outcome(observed(UNAVAILABLE)), bench)


def judge_instance(instance: Instance, runs: JudgedRuns, bench: JudgeContext) -> Judgement:
    """Return the verdict of a case from its judged runs."""
    return judge(runs, instance.clause, instance.needs, bench)


def make_record(
    instance: Instance, runs: JudgedRuns, outcome: Outcome, bench: JudgeContext
) -> CaseRecord:
    """Return the record of a case from its judged runs; the exchange is that of the first one."""
    seen, judgement = runs.first.seen, judge_instance(instance, runs, bench)
    return CaseRecord(
        case=instance.id,
        case_hash=instance.hash,
        clause=instance.clause.id,
        level=instance.clause.level,
        title=instance.title,
        observation=seen.value,
        verdict=judgement.verdict,
        reason=judgement.reason,
        origin=instance.clause.origin,
        overdue=seen.overdue,
        control=seen.control,
        difference=seen.difference,
        note=seen.note,
        evidence=seen.evidence,
        reading=judgement.reading,
        signature=judgement.signature,
        accepted=judgement.accepted,
        needs=instance.needs,
        repeats=runs.record(),
        hazard=instance.mark.hazard,
        duration_us=int(outcome.seconds * 1_000_000),
        transcript=transcript_record(outcome.transcript),
    )
