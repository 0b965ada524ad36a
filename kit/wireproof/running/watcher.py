"""Watches a run inside pytest and tells a display of it."""

import os
import signal
from types import FrameType
from typing import TYPE_CHECKING

from wireproof.view.display import Display
from wireproof_spec.record import CaseRecord, FooterRecord, HeaderRecord

if TYPE_CHECKING:
    import pytest


ENDS = (signal.SIGINT, signal.SIGTERM)
_FINISHING = b"\nfinishing the case in progress; Ctrl-C again stops at once\n"


class Watcher:
    """A pytest plug-in: keeps what a run tells, and why it could not be done."""

    def __init__(self, display: Display) -> None:
        self._display = display
        # While a case runs pytest has put another file behind stderr's number.
        self._stderr = os.dup(2)
        self._session: pytest.Session | None = None
        self.header: HeaderRecord | None = None
        self.records: list[CaseRecord] = []
        self.footer: FooterRecord | None = None
        self.fault = ""
        self.crash: BaseException | None = None

    def pytest_sessionstart(self, session: "pytest.Session") -> None:
        """Keep the session, to stop it when asked."""
        self._session = session

    def pytest_wireproof_header(self, header: HeaderRecord, selected: int) -> None:
        """Tell that the cases begin."""
        self.header = header
        self._display.begin(header, selected=selected)

    def pytest_wireproof_case(self, record: CaseRecord) -> None:
        """Tell of a case."""
        self.records.append(record)
        self._display.case(record)

    def pytest_wireproof_footer(self, footer: FooterRecord) -> None:
        """Keep what it comes to; it is told when the reports are written too."""
        self.footer = footer

    def pytest_wireproof_fault(self, sentence: str) -> None:
        """Keep why the run could not be done."""
        self.fault = self.fault or sentence

    def pytest_collectreport(self, report: "pytest.CollectReport") -> None:
        """Keep what kept a case file from being read."""
        if report.failed:
            last = report.longreprtext.strip().splitlines()[-1:]
            self.fault = self.fault or f"{report.nodeid} cannot be read: {''.join(last).strip()}"

    def pytest_internalerror(self, excinfo: "pytest.ExceptionInfo[BaseException]") -> bool:
        """Keep an error of ours; True keeps pytest from printing it."""
        self.crash = self.crash or excinfo.value
        return True

    def interrupt(self, _signal: int, _frame: FrameType | None) -> None:
        """At the first Ctrl-C let the case in progress end; the next one stops at once."""
        for number in ENDS:
            signal.signal(number, signal.default_int_handler)
        if self._session is None or self.header is None:
            raise KeyboardInterrupt
        self._session.shouldstop = "interrupted"
        os.write(self._stderr, _FINISHING)

    def close(self) -> None:
        """Let go of stderr."""
        os.close(self._stderr)
