"""Hooks through which a run is watched; each is called as it happens."""

import pytest

from wireproof_spec.record import CaseRecord, FooterRecord, HeaderRecord


def pytest_wireproof_header(header: HeaderRecord, selected: int) -> None:
    """Receive the header when the target is open, readings are bound and cases chosen."""


def pytest_wireproof_case(record: CaseRecord) -> None:
    """Receive the record of a case that was run and judged."""


def pytest_wireproof_judged(header: HeaderRecord, record: CaseRecord) -> None:
    """Receive a record in the process that ran the case, before pytest has its outcome."""


@pytest.hookspec(firstresult=True)
def pytest_wireproof_capture(header: HeaderRecord, record: CaseRecord) -> bytes | None:
    """Return the pcap file of a case's exchange; None where it cannot be made."""


def pytest_wireproof_footer(footer: FooterRecord) -> None:
    """Receive the conclusion of the run; the bundle is closed."""


def pytest_wireproof_fault(sentence: str) -> None:
    """Receive the reason why the run could not be made."""
