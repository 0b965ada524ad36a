"""Reports what a run waits for while nothing else is shown: a cluster may take minutes."""

import contextlib
import threading
import time
from collections.abc import Callable, Generator

TELL_EVERY_S = 5.0
SHORT_RUNS = "the short runs that show what the client can do"

Tell = Callable[[str, float], None]
"""Called with what the run is waiting for, and the seconds it has waited."""


class Activity:
    """The step that a run is in, such as "open the target"; thread-safe."""

    def __init__(self, what: str = "the target") -> None:
        self._at = (what, time.monotonic())

    def begin(self, what: str) -> None:
        """Record that the step described by ``what`` begins and the one before has ended."""
        self._at = (what, time.monotonic())

    @contextlib.contextmanager
    def watch(self, tell: Tell, *, every_s: float = TELL_EVERY_S) -> Generator[None]:
        """Call ``tell`` every ``every_s`` seconds while one step takes longer than that."""
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(every_s):
                what, since = self._at
                seconds = time.monotonic() - since
                if seconds >= every_s:
                    tell(what, seconds)

        watcher = threading.Thread(target=watch, name="activity", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            ended.set()
            watcher.join()
