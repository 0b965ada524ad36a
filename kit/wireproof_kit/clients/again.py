"""Observing recorded cases with a client again, without the client: from the log alone."""

from collections.abc import Iterable, Iterator

import msgspec

from wireproof_kit.protocols import kit_part, protocol_of
from wireproof_kit.runner.engine import difference_record
from wireproof_kit.runner.instance import Instance
from wireproof_spec.record import CaseRecord


def observe_again(
    records: Iterable[CaseRecord], instances: Iterable[Instance]
) -> Iterator[CaseRecord]:
    """Yield the records with the observations that this version of their cases takes of the log.

    A case that this kit does not have, and one that left no log, keeps the recorded observation.
    """
    known = {instance.id: instance for instance in instances}
    for record in records:
        instance = known.get(record.case)
        make = kit_part(protocol_of(record.case)).recorded_arguments
        if instance is None or make is None or not record.transcript.steps:
            yield record
            continue
        seen = instance.function(**make(record.transcript), **instance.parameters)
        yield msgspec.structs.replace(
            record,
            observation=seen.value,
            overdue=seen.overdue,
            difference=difference_record(seen.difference),
            note=seen.note,
        )
