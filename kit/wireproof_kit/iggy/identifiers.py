"""Numbers and names that one run uses for its streams and topics, and no other run."""

import itertools
import threading
from collections.abc import Callable
from hashlib import blake2b

from wireproof_kit.iggy.topics import Stream

PREFIX = "wp_"
LOWEST, HIGHEST = 1 << 20, 1 << 30


class Rooms:
    """Used from many threads; the stream for topics is made when it is first needed."""

    def __init__(self, run_token: str) -> None:
        self._token = run_token.lower()
        self._streams = itertools.count(1)
        self._topics = itertools.count(1)
        self._lock = threading.Lock()
        self._home: Stream | None = None

    @property
    def home(self) -> Stream | None:
        """Return the stream for topics, if it was made."""
        return self._home

    def stream(self) -> Stream:
        """Return a stream yet to be made."""
        count = next(self._streams)
        digest = blake2b(f"{self._token}:{count}".encode(), digest_size=4).digest()
        number = LOWEST + int.from_bytes(digest, "little") % (HIGHEST - LOWEST)
        return Stream(number, f"{PREFIX}{self._token}_{count}")

    def topic_number(self) -> int:
        """Return the number of a topic yet to be made."""
        return next(self._topics)

    def topic_name(self, number: int) -> str:
        """Return the name of a topic."""
        return f"{PREFIX}topic_{number}"

    def shared_stream(self, make: Callable[[], Stream]) -> Stream:
        """Return the stream for topics; the first who asks makes it."""
        with self._lock:
            if self._home is None:
                self._home = make()
            return self._home
