"""Observes recorded cases with a client again, from the log alone and without the client."""

from collections.abc import Iterable, Iterator

import msgspec

from wireproof_kit.clients.story import DAMAGE
from wireproof_kit.errors import UsageFault
from wireproof_kit.observation import Observation
from wireproof_kit.protocols import kit_part, protocol_of
from wireproof_kit.runner.instance import Instance
from wireproof_kit.runner.records import difference_record
from wireproof_spec.record import CaseRecord
from wireproof_spec.step_record import TranscriptRecord


def observe_again(
    records: Iterable[CaseRecord], instances: Iterable[Instance]
) -> Iterator[CaseRecord]:
    """Yield the records with new observations, made from their transcripts by this kit's cases.

    A record keeps its observation if this kit lacks the case, or if it has no transcript.

    Raises:
        UsageFault: an exchange is none that the kit records.
    """
    known = {instance.id: instance for instance in instances}
    for record in records:
        instance = known.get(record.case)
        try:
            seen = observe_recorded(instance, record.transcript)
        except DAMAGE as error:
            raise UsageFault(
                f"{record.case}: the recorded exchange is damaged: {error}"
            ) from error
        if seen is None:
            yield record
            continue
        yield msgspec.structs.replace(
            record,
            observation=seen.value,
            overdue=seen.overdue,
            difference=difference_record(seen.difference),
            note=seen.note,
            evidence=seen.evidence,
        )


def observe_recorded(
    instance: Instance | None, transcript: TranscriptRecord
) -> Observation | None:
    """Return what a case for clients observes in a transcript; None if either is missing."""
    if instance is None or not instance.is_for_clients or not transcript.steps:
        return None
    make = kit_part(protocol_of(instance.id)).recorded_arguments
    if make is None:
        return None
    return instance.function(**make(transcript), **instance.parameters)
