"""Message bodies by which a case recognises its own messages on a topic it shares."""

import threading
from hashlib import blake2b

from wireproof_kit.nsq.wire.connection import GOES_ON

TOKEN_DIGITS = 10


class Bodies:
    """Creates and recognises the message bodies of one run of one case."""

    def __init__(self, key: str) -> None:
        digest = blake2b(key.encode(), digest_size=TOKEN_DIGITS // 2).hexdigest()
        self._token = f"wp:{digest}:".encode()
        self._known: set[bytes] = set()
        self._made = 0
        self._lock = threading.Lock()

    def unique(self, prefix: bytes = b"") -> bytes:
        """Return a body that no other case uses: the prefix, then a token of the case."""
        with self._lock:
            self._made += 1
            body = prefix + self._token + str(self._made).encode() + b";"
            self._known.add(body)
        return body

    def adopt(self, body: bytes) -> None:
        """Register a body that the case made itself, so that `is_own` recognises it."""
        with self._lock:
            self._known.add(body)

    def list_known(self) -> frozenset[bytes]:
        """Return all bodies of this case."""
        with self._lock:
            return frozenset(self._known)

    def is_own(self, body: bytes, raw: bytes) -> bool:
        """Return True if a message has a body of this case or contains its token."""
        return body in self.list_known() or self._token in raw


def is_sentinel_of_kit(raw: bytes) -> bool:
    """Return True if a message was sent by the kit only as a sentinel."""
    return raw.endswith(GOES_ON)
