"""What a broker owes for the bytes of a connection, read as liberally as the texts allow.

The walk goes command by command. Where brokers may differ about where the next command begins
(after a size that lies, after a refused body) it stops: what follows is owed nothing certain.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from struct import Struct
from typing import Final

from wireproof_kit.fuzz.door import Ends, Expectation, Owed
from wireproof_kit.nsq.fuzz.answers import (
    CLOSING,
    ERRORS,
    JSON,
    OK_KIND,
    TRACE,
    stored,
)
from wireproof_kit.nsq.fuzz.documents import Header, Identity, read_header, read_identity
from wireproof_spec.nsq import limits, names
from wireproof_spec.nsq.names import is_valid_name

ANYTHING: Final = ERRORS | {OK_KIND, TRACE, JSON, CLOSING}
_OK: Final = frozenset({OK_KIND})
_TRACED: Final = frozenset({TRACE})
_STORED: Final = frozenset({OK_KIND, TRACE})
_IDENTIFIED: Final = frozenset({OK_KIND, JSON})
_TAKEN_OR_NOT: Final = ERRORS | _STORED
_TRACED_OR_NOT: Final = ERRORS | _TRACED
_OK_OR_NOT: Final = ERRORS | _OK
_NAMED_OR_NOT: Final = ERRORS | _IDENTIFIED
_REFUSED: Final = Owed(ERRORS, "may")
_UNCLEAR: Final = Owed(ANYTHING, "may", optional=True)
_SURELY_TAKEN: Final = 65536 + 4096
"""Bytes of a message that every broker takes; a limit above it is the broker's own affair."""
_SIZE = Struct(">i")
_ACKNOWLEDGED = {names.FIN: 4, names.REQ: 4, names.TOUCH: 6}
STARTS: Final = 64
"""Ways to open a connection whose walk is remembered; there are as many as states."""
_ID_SIZE = 16
_POSITIVE = 1 << 63
"""Internal ids are below; others no broker ever gave."""
_SUBSCRIBING = (names.SUB, names.SUB_ORDERED, names.SUB_ADVANCED, names.SUB_ORDER)


@dataclass(frozen=True, slots=True)
class Ground:
    """What the cases' names mean on a target: topic → whether it is an extended one.

    What goes to the `watched` one is delivered to the kit. ``message_limit`` is what the target
    was seen to refuse at once; 0 when it was not.
    """

    topics: Mapping[bytes, bool]
    watched: bytes = b""
    message_limit: int = 0
    body_limit: int = 0
    starts: dict[bytes, "Walk"] = field(default_factory=dict[bytes, "Walk"], compare=False)


@dataclass(frozen=True, slots=True)
class _State:
    opened: bool = False
    subscribed: bool = False
    sure: bool = True
    extend: bool = False


@dataclass(slots=True)
class Walk:
    """One walk over the bytes of a connection."""

    ground: Ground
    data: bytes
    state: _State = _State()
    at: int = 0
    owed: list[Owed] = field(default_factory=list[Owed])
    certain: bool = True
    waits: bool = False
    opaque: bool = False

    def run(self) -> None:
        """Go on until the bytes end, or their meaning does."""
        if not self.state.opened:
            self._open()
        while self.certain and not self.waits and self.at < len(self.data):
            self._command()

    def _open(self) -> None:
        magic = self.data[: len(names.MAGIC)]
        self.at = len(magic)
        if magic == names.MAGIC:
            self.state = replace(self.state, opened=True)
        elif len(magic) < len(names.MAGIC):
            self.waits = True
        else:
            self._refused(ends="must")
            self.certain = False

    def _command(self) -> None:
        for name, start in _ACKNOWLEDGED.items():
            if self.data.startswith(name + b" ", self.at):
                self._acknowledgement(name, self.at + start)
                return
        end = self.data.find(b"\n", self.at, self.at + limits.MAX_LINE_SIZE)
        if end < 0:
            self._endless()
            return
        line = self.data[self.at : end].removesuffix(b"\r")
        self.at = end + 1
        words = line.split(b" ")
        handler = _COMMANDS.get(words[0])
        if handler is None:
            self._unknown(words[0])
        else:
            handler(self, words)

    def _endless(self) -> None:
        if len(self.data) - self.at < limits.MAX_LINE_SIZE:
            self.waits = True
            return
        self.owed.append(Owed(ERRORS, "must", optional=True))
        self.certain = False

    def _unknown(self, name: bytes) -> None:
        # Deployed brokers look at the first letters only.
        if name[:3] in (b"FIN", b"REQ") or name[:5] == b"TOUCH":
            self._unclear()
        else:
            self._refused()

    def _acknowledgement(self, name: bytes, start: int) -> None:
        end = start + _ID_SIZE
        lf = self.data.find(b"\n", end, self.at + limits.MAX_LINE_SIZE)
        right = lf == end if name != names.REQ else self.data[end : end + 1] == b" " and lf > end
        short = b"\n" in self.data[start:end] or not right
        if lf < 0 and not short:
            self.waits = True
            return
        if short:
            self._unclear()
            return
        self.at = lf + 1
        right = name != names.REQ or self.data[end + 1 : lf].isdigit()
        right = right and 0 < int.from_bytes(self.data[start : start + 8]) < _POSITIVE
        ends: Ends = "no" if right and self.state.subscribed and self.state.sure else "may"
        self.owed.append(Owed(ERRORS, ends, optional=True))

    def _refused(self, *, ends: Ends = "may") -> None:
        self.owed.append(Owed(ERRORS, ends))

    def _unclear(self) -> None:
        """Owe nothing certain for what follows."""
        self.owed.append(_UNCLEAR)
        self.certain = False

    def take_size(self) -> int | None:
        """Take the size of a body; None, with what is owed, when it is out of range or cut."""
        if len(self.data) - self.at < _SIZE.size:
            self.waits = True
            return None
        size: int = _SIZE.unpack_from(self.data, self.at)[0]
        if size > 0:
            self.at += _SIZE.size
            return size
        self.certain = False
        if size < 0:
            self._refused()
        else:
            self.owed.append(Owed(ERRORS | _STORED | _IDENTIFIED, "may"))
        return None

    def take_body(self, size: int, *, limit: int, usual: int) -> bytes | None:
        """Take a body; None, with what is owed, when it is too big or not here."""
        if size > (limit or usual):
            self.owed.append(Owed(ERRORS, "may", optional=not limit))
            self.certain = False
            return None
        if len(self.data) - self.at < size:
            self.waits = True
            if size > _SURELY_TAKEN:
                self.owed.append(Owed(ERRORS, "may", optional=True))
            return None
        body = self.data[self.at : self.at + size]
        self.at += size
        return body

    def topic(self, words: list[bytes]) -> bool | None:
        """Tell whether the topic that a publish names is an extended one; None: owed a refusal."""
        known = self.ground.topics.get(words[1]) if len(words) > 1 else None
        if known is None and len(words) > 1 and is_valid_name(words[1].decode("latin-1")):
            # A case may have made it.
            self._unclear()
            return None
        if known is None:
            self._refused()
            self.certain = False
            return None
        if len(words) == 3 and words[2] == b"0":
            return known
        if len(words) == 3 and not words[2].lstrip(b"+-").isdigit():
            self._refused()
            self.certain = False
            return None
        # Without the word, with more words, with another number: brokers differ.
        self._unclear()
        return None


def expect(ground: Ground, before: bytes, data: bytes) -> Expectation:
    """Return what is owed for bytes that come behind others."""
    start = ground.starts.get(before)
    if start is None:
        start = Walk(ground, before)
        if before:
            start.run()
        if len(ground.starts) < STARTS:
            ground.starts[before] = start
    walk = Walk(ground, data, start.state)
    if start.waits or not start.certain:
        walk.owed.append(Owed(ANYTHING, "may", optional=True))
        walk.certain = False
    walk.run()
    owed = tuple(walk.owed)
    if walk.waits:
        owed += (Owed(ERRORS, "may", optional=True),)
    moves = walk.state != start.state
    return Expectation(owed, walk.certain, walk.waits, moves, walk.opaque)


def _publish(walk: Walk, words: list[bytes]) -> None:
    extend = walk.topic(words)
    if extend is None:
        return
    size = walk.take_size()
    if size is None:
        return
    body = walk.take_body(size, limit=walk.ground.message_limit, usual=limits.MAX_MSG_SIZE)
    if body is None:
        return
    owed = _MESSAGES[words[0]](body, extend, words[1] == walk.ground.watched)
    if size > _SURELY_TAKEN:
        owed = replace(owed, kinds=owed.kinds | ERRORS, ends="may")
    walk.owed.append(owed)
    if owed.ends != "no" and (words[0] != names.PUB_EXT or not _is_split(body)):
        walk.certain = False


def _pub(body: bytes, extend: bool, is_seen: bool) -> Owed:
    return Owed(_OK, stored=(stored(b"", body),) if is_seen else (), success=_OK)


def _pub_trace(body: bytes, extend: bool, is_seen: bool) -> Owed:
    if len(body) < 8:
        return _REFUSED
    kept = (stored(b"", body[8:]),) if is_seen else ()
    if len(body) == 8:
        return Owed(_TRACED_OR_NOT, "may", stored=kept, success=_TRACED)
    return Owed(_TRACED, stored=kept, success=_TRACED, echo=body[:8])


def _is_split(body: bytes) -> bool:
    return len(body) > 2 and int.from_bytes(body[:2]) < len(body) - 2


def _pub_ext(body: bytes, extend: bool, is_seen: bool) -> Owed:
    end = 2 + int.from_bytes(body[:2])
    if not extend or len(body) < 2 or end > len(body):
        return _REFUSED
    header = read_header(body[2:end])
    kept = (stored(body[2:end], body[end:]),) if is_seen else ()
    if end == len(body) or header is Header.DOUBTFUL or end - 2 > limits.MAX_JSON_HEADER_SIZE:
        return Owed(_TAKEN_OR_NOT, "may", stored=kept, success=_STORED)
    if isinstance(header, int):
        return Owed(_TRACED, stored=kept, success=_TRACED, echo=header.to_bytes(8))
    return Owed(_OK, stored=kept, success=_OK)


_MESSAGES: Mapping[bytes, Callable[[bytes, bool, bool], Owed]] = {
    names.PUB: _pub,
    names.PUB_TRACE: _pub_trace,
    names.PUB_EXT: _pub_ext,
}


def _publish_many(walk: Walk, words: list[bytes]) -> None:
    extend = walk.topic(words)
    if extend is None:
        return
    size = walk.take_size()
    if size is None:
        return
    if size > (walk.ground.body_limit or limits.MAX_BODY_SIZE):
        walk.owed.append(Owed(ERRORS, "may", optional=not walk.ground.body_limit))
        walk.certain = False
        return
    rest = walk.data[walk.at : walk.at + size]
    messages = _batch(rest)
    if messages is None:
        # Counts and sizes that lie are refused, or read on beyond the outer size.
        walk.certain = False
        lies = len(rest) >= 4 and _SIZE.unpack_from(rest)[0] <= 0
        kinds = ERRORS if lies else ANYTHING
        walk.owed.append(Owed(kinds, "may", optional=not lies))
        return
    if len(rest) < size:
        # Who reads by the count has it whole already; who reads by the size waits for more.
        walk.owed.append(Owed(ANYTHING, "may", optional=True))
        walk.certain = False
        return
    walk.at += size
    owed = _batch_owed(words[0], messages, extend, is_seen=words[1] == walk.ground.watched)
    walk.owed.append(owed)
    walk.certain = owed.ends == "no"


def _batch(body: bytes) -> list[bytes] | None:
    """Take a batch apart; None when count and sizes do not come to the body."""
    if len(body) < 4:
        return None
    count: int = _SIZE.unpack_from(body)[0]
    messages: list[bytes] = []
    at = 4
    while at + 4 <= len(body) and len(messages) < count:
        size: int = _SIZE.unpack_from(body, at)[0]
        if size <= 0 or at + 4 + size > len(body):
            return None
        messages.append(body[at + 4 : at + 4 + size])
        at += 4 + size
    return messages if messages and len(messages) == count and at == len(body) else None


def _batch_owed(name: bytes, messages: list[bytes], extend: bool, *, is_seen: bool) -> Owed:
    one = {names.MPUB: _pub, names.MPUB_TRACE: _pub_trace}.get(name, _pub_ext)
    each = [one(body, extend, is_seen) for body in messages]
    kept = tuple(message for owed in each for message in owed.stored)
    whole = _TRACED if name == names.MPUB_TRACE else _OK
    if all(owed.ends == "no" for owed in each):
        return Owed(whole, stored=kept, success=whole)
    return Owed(ERRORS | whole, "may")


def _subscribe(walk: Walk, words: list[bytes]) -> None:
    state = walk.state
    sound = (
        words[0] == names.SUB
        and len(words) == 4
        and words[3] == b"0"
        and is_valid_name(words[2].decode("latin-1"))
        and walk.ground.topics.get(words[1]) is state.extend
    )
    if sound and state.sure and not state.subscribed:
        walk.owed.append(Owed(_OK))
        walk.state = replace(state, subscribed=True)
        return
    impossible = len(words) < 3 or (state.subscribed and state.sure)
    walk.owed.append(Owed(ERRORS if impossible else ERRORS | _OK, "may"))
    if not impossible:
        walk.state = replace(state, sure=False)


def _identify(walk: Walk, words: list[bytes]) -> None:
    size = walk.take_size()
    if size is None:
        return
    body = walk.take_body(size, limit=walk.ground.body_limit, usual=limits.MAX_BODY_SIZE)
    if body is None:
        return
    found = read_identity(body)
    doubtful = found is Identity.DOUBTFUL or walk.state.subscribed or not walk.state.sure
    if found is Identity.OPAQUE:
        walk.owed.append(Owed(_NAMED_OR_NOT, "may"))
        walk.certain, walk.opaque = False, True
        return
    kinds = _NAMED_OR_NOT if doubtful else _IDENTIFIED
    walk.owed.append(Owed(kinds, "may" if doubtful else "no"))
    if doubtful:
        walk.state = replace(walk.state, sure=False)
    else:
        walk.state = replace(walk.state, extend=found is Identity.EXTENDED)


def _auth(walk: Walk, words: list[bytes]) -> None:
    size = walk.take_size()
    if size is None:
        return
    if walk.take_body(size, limit=walk.ground.body_limit, usual=limits.MAX_BODY_SIZE) is not None:
        walk.owed.append(Owed(_NAMED_OR_NOT, "may"))
        walk.certain = False


def _ready(walk: Walk, words: list[bytes]) -> None:
    state = walk.state
    count = words[1] if len(words) == 2 else b""
    right = count.isdigit() and len(count) < 5 and int(count) <= limits.MAX_RDY_COUNT
    if right and state.subscribed and state.sure:
        return
    walk.owed.append(Owed(ERRORS, "may", optional=True))


def _close(walk: Walk, words: list[bytes]) -> None:
    state = walk.state
    if state.subscribed and state.sure:
        walk.owed.append(Owed(frozenset({CLOSING})))
        walk.state = replace(state, sure=False)
    else:
        walk.owed.append(Owed(ERRORS | {CLOSING}, "may"))


def _nothing(walk: Walk, words: list[bytes]) -> None:
    """Owe nothing."""


def _create(walk: Walk, words: list[bytes]) -> None:
    walk.owed.append(Owed(_OK_OR_NOT, "may"))


_COMMANDS: Mapping[bytes, Callable[[Walk, list[bytes]], None]] = {
    **dict.fromkeys((names.PUB, names.PUB_TRACE, names.PUB_EXT), _publish),
    **dict.fromkeys((names.MPUB, names.MPUB_TRACE, names.MPUB_EXT), _publish_many),
    **dict.fromkeys(_SUBSCRIBING, _subscribe),
    names.IDENTIFY: _identify,
    names.AUTH: _auth,
    names.RDY: _ready,
    names.CLS: _close,
    names.NOP: _nothing,
    names.INTERNAL_CREATE_TOPIC: _create,
}
