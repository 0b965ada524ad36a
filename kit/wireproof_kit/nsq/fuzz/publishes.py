"""The answers required of a broker for publishes of one message or a batch."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from wireproof_kit.fuzz.driver import Owed
from wireproof_kit.fuzz.oracle.http_posts import SURELY_TAKEN
from wireproof_kit.nsq.fuzz.answers import ERRORS, TRACE, fingerprint_stored
from wireproof_kit.nsq.fuzz.documents import Header, read_header
from wireproof_kit.nsq.fuzz.request_tracker import (
    ANYTHING,
    OK,
    REFUSED,
    SIZE,
    STORED,
    RequestTracker,
)
from wireproof_spec.nsq import limits, names

HEADER_SURELY_TAKEN: Final = 2048
"""The most bytes of a header that every broker must accept; a broker may limit longer ones."""

_TRACED: Final = frozenset({TRACE})
_TAKEN_OR_NOT: Final = ERRORS | STORED
_TRACED_OR_NOT: Final = ERRORS | _TRACED
_TRACE_ID_SIZE: Final = 8


def publish(walk: RequestTracker, words: list[bytes]) -> None:
    """Add the valid answers to PUB, PUB_TRACE or PUB_EXT."""
    extend = walk.topic(words)
    if extend is None:
        return
    size = walk.take_size()
    if size is None:
        return
    body = walk.take_body(size, limit=walk.target_state.message_limit, usual=limits.MAX_MSG_SIZE)
    if body is None:
        return
    owed = _MESSAGES[words[0]](body, extend, words[1] == walk.target_state.watched)
    if size > SURELY_TAKEN:
        owed = replace(owed, kinds=owed.kinds | ERRORS, ends="may")
    walk.owed.append(owed)
    if owed.ends != "no" and (words[0] != names.PUB_EXT or not _is_split(body)):
        walk.certain = False


def _pub(body: bytes, extend: bool, is_seen: bool) -> Owed:
    return Owed(OK, stored=(fingerprint_stored(b"", body),) if is_seen else (), success=OK)


def _pub_trace(body: bytes, extend: bool, is_seen: bool) -> Owed:
    if len(body) < _TRACE_ID_SIZE:
        return REFUSED
    kept = (fingerprint_stored(b"", body[_TRACE_ID_SIZE:]),) if is_seen else ()
    if len(body) == _TRACE_ID_SIZE:
        return Owed(_TRACED_OR_NOT, "may", stored=kept, success=_TRACED)
    return Owed(_TRACED, stored=kept, success=_TRACED, echo=body[:_TRACE_ID_SIZE])


def _is_split(body: bytes) -> bool:
    return len(body) > 2 and int.from_bytes(body[:2]) < len(body) - 2


def _pub_ext(body: bytes, extend: bool, is_seen: bool) -> Owed:
    end = 2 + int.from_bytes(body[:2])
    if not extend or len(body) < 2 or end > len(body):
        return REFUSED
    header = read_header(body[2:end])
    kept = (fingerprint_stored(body[2:end], body[end:]),) if is_seen else ()
    if end == len(body) or header is Header.DOUBTFUL or end - 2 > HEADER_SURELY_TAKEN:
        return Owed(_TAKEN_OR_NOT, "may", stored=kept, success=STORED)
    if isinstance(header, int):
        return Owed(_TRACED, stored=kept, success=_TRACED, echo=header.to_bytes(_TRACE_ID_SIZE))
    return Owed(OK, stored=kept, success=OK)


_MESSAGES: Mapping[bytes, Callable[[bytes, bool, bool], Owed]] = {
    names.PUB: _pub,
    names.PUB_TRACE: _pub_trace,
    names.PUB_EXT: _pub_ext,
}


def publish_many(walk: RequestTracker, words: list[bytes]) -> None:
    """Add the valid answers to MPUB, MPUB_TRACE or MPUB_EXT."""
    extend = walk.topic(words)
    if extend is None:
        return
    size = walk.take_size()
    if size is None:
        return
    if not walk.is_within(size, limit=walk.target_state.body_limit, usual=limits.MAX_BODY_SIZE):
        return
    rest = walk.data[walk.at : walk.at + size]
    messages = batch(rest)
    if messages is None:
        # Counts and sizes that lie are refused, or read on beyond the outer size.
        walk.certain = False
        lies = len(rest) >= 4 and SIZE.unpack_from(rest)[0] <= 0
        kinds = ERRORS if lies else ANYTHING
        walk.owed.append(Owed(kinds, "may", optional=not lies))
        return
    if len(rest) < size:
        # Who reads by the count has it whole already; who reads by the size waits for more.
        walk.owed.append(Owed(ANYTHING, "may", optional=True))
        walk.certain = False
        return
    walk.at += size
    owed = _batch_owed(words[0], messages, extend, is_seen=words[1] == walk.target_state.watched)
    walk.owed.append(owed)
    walk.certain = owed.ends == "no"


def batch(body: bytes) -> list[bytes] | None:
    """Split the body of an MPUB into messages; return None when count or sizes do not fit."""
    if len(body) < 4:
        return None
    count: int = SIZE.unpack_from(body)[0]
    messages: list[bytes] = []
    at = 4
    while at + 4 <= len(body) and len(messages) < count:
        size: int = SIZE.unpack_from(body, at)[0]
        if size <= 0 or at + 4 + size > len(body):
            return None
        messages.append(body[at + 4 : at + 4 + size])
        at += 4 + size
    return messages if messages and len(messages) == count and at == len(body) else None


def _batch_owed(name: bytes, messages: list[bytes], extend: bool, *, is_seen: bool) -> Owed:
    one = {names.MPUB: _pub, names.MPUB_TRACE: _pub_trace}.get(name, _pub_ext)
    each = [one(body, extend, is_seen) for body in messages]
    kept = tuple(message for owed in each for message in owed.stored)
    whole = _TRACED if name == names.MPUB_TRACE else OK
    if all(owed.ends == "no" for owed in each):
        return Owed(whole, stored=kept, success=whole)
    return Owed(ERRORS | whole, "may")
