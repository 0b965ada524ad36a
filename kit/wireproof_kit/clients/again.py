"""Observes recorded cases with a client again, from the log alone and without the client."""

from collections.abc import Iterable, Iterator

import msgspec

from wireproof_kit.protocols import kit_part, protocol_of
from wireproof_kit.runner.engine import difference_record
from wireproof_kit.runner.instance import Instance
from wireproof_spec.record import CaseRecord


def observe_again(
    records: Iterable[CaseRecord], instances: Iterable[Instance]
) -> Iterator[CaseRecord]:
    """Yield the records with observations made again from the log by the present cases.

    A record keeps its observation if this kit does not have the case, or if the record has no log.
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
