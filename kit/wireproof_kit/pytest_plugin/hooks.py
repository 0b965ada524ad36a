"""Hooks through which a run is watched; each is called as it happens."""

import pytest

from wireproof_spec.record import CaseRecord, FooterRecord, HeaderRecord


def pytest_wireproof_header(header: HeaderRecord, selected: int) -> None:
    """Tell that the target is open, claims are probed, readings bound, cases chosen."""


def pytest_wireproof_case(record: CaseRecord) -> None:
    """Tell that a case was run and judged."""


def pytest_wireproof_judged(header: HeaderRecord, record: CaseRecord) -> None:
    """Tell of a case in the process that ran it, before pytest has its outcome."""


@pytest.hookspec(firstresult=True)
def pytest_wireproof_capture(header: HeaderRecord, record: CaseRecord) -> bytes | None:
    """Return the pcap file of a case's exchange; None where it cannot be made."""


def pytest_wireproof_footer(footer: FooterRecord) -> None:
    """Tell what the run came to; the bundle is closed."""


def pytest_wireproof_fault(sentence: str) -> None:
    """Tell why the run could not do its job."""
