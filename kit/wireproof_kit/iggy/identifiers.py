"""Stream and topic identifiers that only one run uses."""

import itertools
import threading
from collections.abc import Callable
from hashlib import blake2b

from wireproof_kit.iggy.topics import Stream

PREFIX = "wp_"
LOWEST, HIGHEST = 1 << 20, 1 << 30


class Identifiers:
    """Generates numbers and names for the streams and topics of a run; thread-safe."""

    def __init__(self, run_token: str) -> None:
        self._token = run_token.lower()
        self._streams = itertools.count(1)
        self._topics = itertools.count(1)
        self._lock = threading.Lock()
        self._home: Stream | None = None

    @property
    def home(self) -> Stream | None:
        """Return the stream that holds the run's topics; None before it is created."""
        return self._home

    def stream(self) -> Stream:
        """Return a new stream's number and name; nothing is created on the target."""
        count = next(self._streams)
        digest = blake2b(f"{self._token}:{count}".encode(), digest_size=4).digest()
        number = LOWEST + int.from_bytes(digest, "little") % (HIGHEST - LOWEST)
        return Stream(number, f"{PREFIX}{self._token}_{count}")

    def topic_number(self) -> int:
        """Return the number for a new topic."""
        return next(self._topics)

    def topic_name(self, number: int) -> str:
        """Return the name of the topic with this number."""
        return f"{PREFIX}topic_{number}"

    def forget_home(self) -> None:
        """Have the stream for the run's topics created again by the next call for it."""
        with self._lock:
            self._home = None

    def shared_stream(self, make: Callable[[], Stream]) -> Stream:
        """Return the stream for the run's topics; the first call creates it with ``make``."""
        with self._lock:
            if self._home is None:
                self._home = make()
            return self._home
