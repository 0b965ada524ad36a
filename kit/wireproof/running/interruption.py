"""Ctrl-C and SIGTERM: the first lets the case in progress end, the second stops at once."""

import contextlib
import os
import signal
import threading
from collections.abc import Generator
from types import FrameType

from wireproof_spec.record import CaseRecord, HeaderRecord

BEFORE_FIRST = "interrupted before the first case; nothing was written"
AT_ONCE = (
    "stopped at once; {bundle} has the cases judged so far, without an end. "
    "`wireproof judge {bundle} --bundle FILE` writes a bundle of them that reports can be made of"
)
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_FINISHING = b"\nfinishing the case in progress; Ctrl-C again stops at once\n"


class Interruption:
    """Handles SIGINT and SIGTERM during a run: the first one ends it after the current case.

    Before the run has begun, already the first signal stops at once.
    """

    def __init__(self, *, has_begun: bool = False, notice: bytes = _FINISHING) -> None:
        self._has_begun = has_begun
        self._notice = notice
        self._is_asked = False

    def describe_stop(self, bundle: object) -> str:
        """Return a sentence on what a run that was stopped at once has left."""
        return AT_ONCE.format(bundle=bundle) if self._has_begun else BEFORE_FIRST

    def is_asked(self) -> bool:
        """Return True if a signal has asked the run to end after the case in progress."""
        return self._is_asked

    def begin(self, header: HeaderRecord, *, selected: int) -> None:
        """Note that the run has begun: from now on there is a case in progress."""
        self._has_begun = True

    def case(self, record: CaseRecord) -> None:
        """Do nothing when a case has ended."""

    @contextlib.contextmanager
    def handles_signals(self) -> Generator[None]:
        """Handle signals as long as the context lasts; only the main thread may call this."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._handle) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _handle(self, _signal: int, _frame: FrameType | None) -> None:
        for number in _SIGNALS:
            signal.signal(number, signal.default_int_handler)
        if not self._has_begun:
            raise KeyboardInterrupt
        self._is_asked = True
        # Not print(): the signal may have come in the middle of one.
        os.write(2, self._notice)
