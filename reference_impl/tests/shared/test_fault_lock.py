"""The lock files of faults: they name only faults and clauses that exist, in order."""

from types import ModuleType

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
from wireproof_reference_impl.preset import CLAUSE
from wireproof_spec.clauses.loading import load_catalogue


@pytest.mark.parametrize(
    ("protocol", "faulty", "presets"),
    [
        ("nsq", nsq_faults, nsq_presets),
        ("iggy", iggy_faults, iggy_presets),
        ("oms", oms_faults, oms_presets),
        ("nsq", nsq_client_faults, nsq_client),
        ("iggy", iggy_client_faults, iggy_client),
    ],
)
def test_an_entry_names_a_fault_and_clauses_that_it_does_not_break(
    protocol: str, faulty: ModuleType, presets: ModuleType
) -> None:
    lock = read_lock(find_lock(faulty))
    known = {clause.id for clause in load_catalogue(protocol).clauses()}
    broken = {
        fault.name: fault.breaks for fault in presets.FAULTS.values() if fault.kind == CLAUSE
    }

    assert list(lock) == sorted(lock)
    assert lock.keys() <= broken.keys()
    for name, clauses in lock.items():
        assert list(clauses) == sorted(set(clauses) & known - set(broken[name])), name
