"""A target that is dead when the time is over: one death, not an anomaly for each connection."""

import socket

import pytest

from wireproof_kit.fuzz.case import Case, Step
from wireproof_kit.fuzz.driver import Trouble
from wireproof_kit.fuzz.triage.anomaly import Anomaly, tell_death


class Oracle:
    """Sends every case to one address."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address

    def address(self, case: Case) -> tuple[str, int]:
        return self._address


CASE = Case(1, "identified", "PUB", "size", "zero", (Step(b"PUB x 0\n"),), True)


@pytest.mark.parametrize("is_there", [True, False])
def test_of_a_dead_target_one_death_is_told(is_there: bool) -> None:
    found = [Anomaly(Trouble("closed", "it closed"), (CASE,), CASE) for _ in range(9)]
    with socket.create_server(("127.0.0.1", 0)) as listening:
        oracle = Oracle(listening.getsockname())
        if not is_there:
            listening.close()
        told = tell_death(found, oracle)  # type: ignore[arg-type]  # only the address is asked

    assert [each.trouble.violated for each in told] == (["closed"] * 9 if is_there else ["dead"])
    assert not tell_death([], oracle)  # type: ignore[arg-type]  # as above
