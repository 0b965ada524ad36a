"""Hooks through which a run is watched; each is called as it happens."""

from collections.abc import Sequence

import pytest

from wireproof_spec.record import CaseRecord, FooterRecord, HeaderRecord, WayRecord


def pytest_wireproof_header(header: HeaderRecord, selected: int) -> None:
    """Receive the header when the target is open and probed and the cases are selected."""


def pytest_wireproof_case(record: CaseRecord) -> None:
    """Receive the record of a case that was run and judged."""


def pytest_wireproof_judged(header: HeaderRecord, record: CaseRecord) -> None:
    """Receive a case's record in the process that ran the case, before pytest has its outcome."""


@pytest.hookspec(firstresult=True)
def pytest_wireproof_capture(header: HeaderRecord, record: CaseRecord) -> bytes | None:
    """Return the pcap file of a case's traffic; None if it cannot be made."""


def pytest_wireproof_ways(ways: Sequence[WayRecord]) -> None:
    """Receive what the messages of all cases that a process ran showed, at its end."""


def pytest_wireproof_footer(footer: FooterRecord) -> None:
    """Receive the conclusion of the run, after the bundle was closed."""


def pytest_wireproof_fault(sentence: str) -> None:
    """Receive the sentence why the run could not be started."""
