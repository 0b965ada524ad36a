"""Reads the requests on a connection and collects the answers that the broker owes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from struct import Struct
from typing import Final

from wireproof_kit.fuzz.driver import Ends, Owed
from wireproof_kit.fuzz.oracle.http_posts import SURELY_TAKEN
from wireproof_kit.nsq.fuzz.answers import CLOSING, ERRORS, JSON, OK_KIND, TRACE
from wireproof_spec.nsq.names import is_valid_name

OK: Final = frozenset({OK_KIND})
STORED: Final = frozenset({OK_KIND, TRACE})
IDENTIFIED: Final = frozenset({OK_KIND, JSON})
ANYTHING: Final = ERRORS | STORED | IDENTIFIED | {CLOSING}
REFUSED: Final = Owed(ERRORS, "may")
UNCLEAR: Final = Owed(ANYTHING, "may", optional=True)
SIZE: Final = Struct(">i")


@dataclass(frozen=True, slots=True)
class TargetState:
    """What is known about the target: topic name → True if the topic is an ext one, and limits.

    The kit consumes from the `watched` topic. `message_limit` and `body_limit` are the bytes above
    which the target was seen to refuse a publish or an IDENTIFY at once; 0 when it was not.
    `needs_identify`: it refuses publishes before IDENTIFY. `unknown` are the publish commands that
    it does not know; a broker without MPUB may lack TOUCH, too. `has_partitions`: it reads what
    stands behind the topic of a publish. `starts` remembers the meaning of bytes that open a
    connection.
    """

    topics: Mapping[bytes, bool]
    watched: bytes = b""
    message_limit: int = 0
    body_limit: int = 0
    needs_identify: bool = False
    unknown: frozenset[bytes] = frozenset()
    has_partitions: bool = True
    starts: dict[bytes, "RequestTracker"] = field(
        default_factory=dict[bytes, "RequestTracker"], repr=False, compare=False
    )


@dataclass(frozen=True, slots=True)
class ConnectionState:
    """The assumed state of a connection; ``sure`` means that no answer can have changed it."""

    opened: bool = False
    identified: bool = False
    subscribed: bool = False
    sure: bool = True
    extend: bool = False


def _is_no_number(words: list[bytes]) -> bool:
    return len(words) == 1 and not words[0].lstrip(b"+-").isdigit()


@dataclass(slots=True)
class RequestTracker:
    """Decodes the bytes sent on a connection, and collects the valid answers to them in `owed`.

    If not `certain`, the meaning of the bytes from `at` on is unknown. `waits`: the bytes end
    inside a request. `opaque`: further answers cannot be decoded.
    """

    target_state: TargetState
    data: bytes
    state: ConnectionState = ConnectionState()
    at: int = 0
    owed: list[Owed] = field(default_factory=list[Owed])
    certain: bool = True
    waits: bool = False
    opaque: bool = False

    def refuse(self, *, ends: Ends = "may") -> None:
        """Add an error as the only valid answer; ``ends`` says if the broker may then close."""
        self.owed.append(Owed(ERRORS, ends))

    def leave(self) -> None:
        """Stop: the bytes that follow have no certain meaning, so any answers are valid."""
        self.owed.append(UNCLEAR)
        self.certain = False

    def take_size(self) -> int | None:
        """Return the size of a body; None, adding the valid answer, if it is invalid or cut."""
        if len(self.data) - self.at < SIZE.size:
            self.waits = True
            return None
        size: int = SIZE.unpack_from(self.data, self.at)[0]
        if size > 0:
            self.at += SIZE.size
            return size
        self.certain = False
        if size < 0:
            self.refuse()
        else:
            self.owed.append(Owed(ERRORS | STORED | IDENTIFIED, "may"))
        return None

    def is_within(self, size: int, *, limit: int, usual: int) -> bool:
        """Return True if a size is at most the limit (0: the `usual` one); else add an error."""
        if size <= (limit or usual):
            return True
        self.owed.append(Owed(ERRORS, "may", optional=not limit))
        self.certain = False
        return False

    def take_body(self, size: int, *, limit: int, usual: int) -> bytes | None:
        """Return a command's body; None, adding the valid answer, if it is too big or cut."""
        if not self.is_within(size, limit=limit, usual=usual):
            return None
        if len(self.data) - self.at < size:
            self.waits = True
            if size > SURELY_TAKEN:
                self.owed.append(Owed(ERRORS, "may", optional=True))
            return None
        body = self.data[self.at : self.at + size]
        self.at += size
        return body

    def topic(self, words: list[bytes]) -> bool | None:
        """Return True if the topic named by a publish is an ext one, False if it is a plain one.

        Return None, with the valid answers added, if the topic or partition is not certain.
        """
        known = self.target_state.topics.get(words[1]) if len(words) > 1 else None
        if known is None and len(words) > 1 and is_valid_name(words[1].decode("latin-1")):
            self.leave()  # a case may have made it
        elif known is None:
            self._refuse_for_good()
        elif len(words) == 3 and words[2] == b"0":
            return known
        elif self.target_state.has_partitions and _is_no_number(words[2:]):
            self._refuse_for_good()
        else:
            self.leave()  # without the word, with more words, with another number: brokers differ
        return None

    def _refuse_for_good(self) -> None:
        """Require an error; a broker may then read the body as commands.

        Some look at the names only once they have the body.
        """
        self.owed.append(Owed(ERRORS, "may", optional=not self._is_body_here()))
        self.certain = False

    def _is_body_here(self) -> bool:
        """Return True if the size that follows is invalid, or its whole body is present."""
        begin = self.at + SIZE.size
        if len(self.data) < begin:
            return False
        size: int = SIZE.unpack_from(self.data, self.at)[0]
        return size <= 0 or len(self.data) - begin >= size
