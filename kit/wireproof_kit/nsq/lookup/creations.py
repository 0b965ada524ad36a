"""Remembers topic creations requested from lookup servers, and repeats the requests.

The measured server looks through its topics once a minute and shortly after each creation, but
not twice within 6 s, and needs two looks to make a topic usable. It takes the creation of a topic
that exists as it is wanted for one that was cut short: it grants it and looks again.
"""

import threading
import time
from collections.abc import Callable, Mapping

# The measured server ignores what comes within 6 s of its last look at the topics.
AGAIN_SECONDS = 7.0

Query = Mapping[str, str | int]


class Creations:
    """Repeats requests to create topics, at most every few seconds; thread-safe."""

    def __init__(self, ask: Callable[[Query], object]) -> None:
        self._ask = ask
        self._asked: dict[str, Query] = {}
        self._last = time.monotonic()
        self._asking = threading.Lock()

    def add(self, name: str, query: Query) -> None:
        """Store the request that creates the named topic."""
        self._asked[name] = query
        self._last = time.monotonic()

    def forget(self, name: str) -> None:
        """Never request a topic again, as it will be deleted; wait for a request being sent."""
        with self._asking:
            self._asked.pop(name, None)

    def remind(self, name: str) -> None:
        """Repeat the request that created a topic, or the latest request if there was none for it.

        Do nothing if a request was sent a moment ago.
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
