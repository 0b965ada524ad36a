"""The answers required of a broker for commands that publish nothing."""

from dataclasses import replace
from typing import Final

from wireproof_kit.fuzz.driver import Owed
from wireproof_kit.nsq.fuzz.answers import CLOSING, ERRORS
from wireproof_kit.nsq.fuzz.documents import Identity, read_identity
from wireproof_kit.nsq.fuzz.request_tracker import IDENTIFIED, OK, RequestTracker
from wireproof_spec.nsq import limits, names
from wireproof_spec.nsq.names import is_valid_name

_OK_OR_NOT: Final = ERRORS | OK
_NAMED_OR_NOT: Final = ERRORS | IDENTIFIED


def subscribe(walk: RequestTracker, words: list[bytes]) -> None:
    """Add the valid answers to SUB and its variants, the next command in the bytes."""
    state = walk.state
    sound = (
        words[0] == names.SUB
        and len(words) == 4
        and words[3] == b"0"
        and is_valid_name(words[2].decode("latin-1"))
        and walk.target_state.topics.get(words[1]) is state.extend
    )
    if sound and state.sure and not state.subscribed:
        walk.owed.append(Owed(OK))
        walk.state = replace(state, subscribed=True)
        return
    impossible = len(words) < 3 or (state.subscribed and state.sure)
    walk.owed.append(Owed(ERRORS if impossible else ERRORS | OK, "may"))
    if not impossible:
        walk.state = replace(state, sure=False)


def identify(walk: RequestTracker, words: list[bytes]) -> None:
    """Add the valid answers to IDENTIFY to the answers due; they may begin TLS or compression."""
    size = walk.take_size()
    if size is None:
        return
    body = walk.take_body(size, limit=walk.target_state.body_limit, usual=limits.MAX_BODY_SIZE)
    if body is None:
        return
    identity = read_identity(body)
    doubtful = identity is Identity.DOUBTFUL or walk.state.subscribed or not walk.state.sure
    if identity is Identity.OPAQUE:
        walk.owed.append(Owed(_NAMED_OR_NOT, "may"))
        walk.certain, walk.opaque = False, True
        return
    kinds = _NAMED_OR_NOT if doubtful else IDENTIFIED
    walk.owed.append(Owed(kinds, "may" if doubtful else "no"))
    if doubtful:
        walk.state = replace(walk.state, sure=False)
    else:
        extend = identity is Identity.EXTENDED
        walk.state = replace(walk.state, identified=True, extend=extend)


def auth(walk: RequestTracker, words: list[bytes]) -> None:
    """Add the valid answers to AUTH, which a broker need not support."""
    size = walk.take_size()
    if size is None:
        return
    if (
        walk.take_body(size, limit=walk.target_state.body_limit, usual=limits.MAX_BODY_SIZE)
        is not None
    ):
        walk.owed.append(Owed(_NAMED_OR_NOT, "may"))
        walk.certain = False


def ready(walk: RequestTracker, words: list[bytes]) -> None:
    """Add the valid answers to RDY: none unless the command is invalid."""
    state = walk.state
    count = words[1] if len(words) == 2 else b""
    right = count.isdigit() and len(count) < 5 and int(count) <= limits.MAX_RDY_COUNT
    if right and state.subscribed and state.sure:
        return
    walk.owed.append(Owed(ERRORS, "may", optional=True))


def close(walk: RequestTracker, words: list[bytes]) -> None:
    """Add the valid answers to CLS."""
    state = walk.state
    if state.subscribed and state.sure:
        walk.owed.append(Owed(frozenset({CLOSING})))
        walk.state = replace(state, sure=False)
    else:
        walk.owed.append(Owed(ERRORS | {CLOSING}, "may"))


def do_nothing(walk: RequestTracker, words: list[bytes]) -> None:
    """Add no answer: NOP is not answered."""


def create(walk: RequestTracker, words: list[bytes]) -> None:
    """Add the valid answers to INTERNAL_CREATE_TOPIC, which a broker may refuse."""
    walk.owed.append(Owed(_OK_OR_NOT, "may"))
