"""The lock files of faults: they name only faults and clauses that exist, in order."""

from collections.abc import Mapping

import pytest

from wireproof_reference_impl.fault_lock import find_lock, read_lock
from wireproof_reference_impl.iggy import client_presets as iggy_client
from wireproof_reference_impl.iggy import faulty as iggy_faults
from wireproof_reference_impl.iggy import presets as iggy_presets
from wireproof_reference_impl.iggy.faulty import clients as iggy_client_faults
from wireproof_reference_impl.nsq import client_presets as nsq_client
from wireproof_reference_impl.nsq import faulty as nsq_faults
from wireproof_reference_impl.nsq import presets as nsq_presets
from wireproof_reference_impl.nsq.faulty import clients as nsq_client_faults
from wireproof_reference_impl.oms import faulty as oms_faults
from wireproof_reference_impl.oms import presets as oms_presets
from wireproof_reference_impl.preset import CLAUSE, Preset
from wireproof_spec.clauses.loading import load_catalogue


@pytest.mark.parametrize(
    ("protocol", "package", "faults"),
    [
        ("nsq", nsq_faults.__file__, nsq_presets.FAULTS),
        ("iggy", iggy_faults.__file__, iggy_presets.FAULTS),
        ("oms", oms_faults.__file__, oms_presets.FAULTS),
        ("nsq", nsq_client_faults.__file__, nsq_client.FAULTS),
        ("iggy", iggy_client_faults.__file__, iggy_client.FAULTS),
    ],
)
def test_an_entry_names_a_fault_and_clauses_that_it_does_not_break(
    protocol: str, package: str, faults: Mapping[str, Preset]
) -> None:
    lock = read_lock(find_lock(package))
    known = {clause.id for clause in load_catalogue(protocol).clauses()}
    broken = {name: fault.breaks for name, fault in faults.items() if fault.kind == CLAUSE}

    assert list(lock) == sorted(lock)
    assert lock.keys() <= broken.keys()
    for name, clauses in lock.items():
        assert list(clauses) == sorted(set(clauses) & known - set(broken[name])), name
