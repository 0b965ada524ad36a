"""The proof of the cases for clients, as tests: a few faults of the example client.

`make selftest-clients SAMPLE=1` tries a fault of each clause, `make selftest-clients` all of them.
`make selftest` leaves the example clients out.
"""

from collections import Counter
from contextlib import closing

import msgspec
import pytest

from wireproof_kit.selftest.plan import FAULT, Trial, list_trials
from wireproof_kit.selftest.run_trials import run_trials
from wireproof_spec.clauses.loading import load_catalogue

pytestmark = [pytest.mark.process, pytest.mark.long]

LEAST = 2
FEW = {
    "nsq": ("client-listed-unused", "client-dies-at-empty-error", "client-trace-id-little-endian"),
    "iggy": (
        "client-reads-short-head",
        "client-gives-first-copy",
        "client-json-id-text",
        "client-polls-other-topic",
    ),
}


def trials(protocol: str, *names: str) -> list[Trial]:
    known = {trial.name: trial for trial in list_trials(protocol, FAULT, of_client=True)}
    return [msgspec.structs.replace(known[name], every=False) for name in names]


@pytest.mark.parametrize("protocol", FEW)
def test_every_clause_for_clients_has_two_faults(protocol: str) -> None:
    catalogue = load_catalogue(protocol).for_target(is_client=True)
    tested = {clause.id for clause in catalogue.clauses() if clause.case}
    faults = list_trials(protocol, FAULT, of_client=True)
    found = Counter(clause for fault in faults for clause in fault.breaks)

    assert {fault.name for fault in faults if not fault.way} == set()
    assert set(found) <= tested
    assert {clause for clause in tested if found[clause] < LEAST} == set()


@pytest.mark.parametrize("protocol", FEW)
def test_a_few_faults_die(protocol: str) -> None:
    few = FEW[protocol]
    running = run_trials(protocol, trials(protocol, *few), workers=2, of_client=True)
    with closing(running) as results:
        verdicts = {result.trial.name: result.verdict for result in results}

    assert verdicts == dict.fromkeys(few, "died")
