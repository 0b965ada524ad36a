"""What a run has asked lookup servers to create, asked once more while it is awaited.

The measured server looks through its topics once a minute and shortly after each creation, but
not twice within 6 s, and needs two looks to make a topic usable. It takes the creation of a topic
that exists as it is wanted for one that was cut short: it grants it and looks again.
"""

import threading
import time
from collections.abc import Callable, Mapping

AGAIN_SECONDS = 7.0

Query = Mapping[str, str | int]


class Creations:
    """Used from many threads; asks again at most every few seconds, whoever waits."""

    def __init__(self, ask: Callable[[Query], object]) -> None:
        self._ask = ask
        self._asked: dict[str, Query] = {}
        self._last = time.monotonic()
        self._asking = threading.Lock()

    def add(self, name: str, query: Query) -> None:
        """Remember what was asked for."""
        self._asked[name] = query
        self._last = time.monotonic()

    def forget(self, name: str) -> None:
        """Never ask for a topic again, for it is to be deleted; waits for what is being asked."""
        with self._asking:
            self._asked.pop(name, None)

    def remind(self, name: str) -> None:
        """Ask for a topic again, or for the latest one when this one was asked for by others.

        Does nothing when something was asked for a moment ago.
        """
        if not self._asking.acquire(blocking=False):
            return
        try:
            query = self._asked.get(name) or next(reversed(list(self._asked.values())), None)
            if query is not None and time.monotonic() - self._last >= AGAIN_SECONDS:
                self._ask(query)
                self._last = time.monotonic()
        finally:
            self._asking.release()
