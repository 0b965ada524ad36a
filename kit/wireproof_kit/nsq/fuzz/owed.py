"""The answers required of a broker for the bytes of a connection, read liberally.

The walk goes command by command. Where brokers may differ about where the next command begins
(after a size that lies, after a refused body) it stops: what follows is owed nothing certain.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from wireproof_kit.fuzz.driver import Ends, Expectation, Owed
from wireproof_kit.nsq.fuzz import clients
from wireproof_kit.nsq.fuzz.answers import ERRORS
from wireproof_kit.nsq.fuzz.documents import may_change_the_stream
from wireproof_kit.nsq.fuzz.publishes import publish, publish_many
from wireproof_kit.nsq.fuzz.request_tracker import RequestTracker, TargetState
from wireproof_spec.nsq import limits, names
from wireproof_spec.nsq.acknowledge import MESSAGE_ID_SIZE

STARTS: Final = 64
"""How many openings of connections are remembered with their meaning: one for each state."""
_ACKNOWLEDGEMENTS: Final = tuple(name + b" " for name in (names.FIN, names.REQ, names.TOUCH))
_POSITIVE: Final = 1 << 63
"""All internal ids that a broker has given are below this number."""
_COMMANDS: Mapping[bytes, Callable[[RequestTracker, list[bytes]], None]] = {
    **dict.fromkeys((names.PUB, names.PUB_TRACE, names.PUB_EXT), publish),
    **dict.fromkeys((names.MPUB, names.MPUB_TRACE, names.MPUB_EXT), publish_many),
    names.SUB: clients.subscribe,
    names.SUB_ORDERED: clients.subscribe,
    names.SUB_ADVANCED: clients.subscribe,
    names.SUB_ORDER: clients.subscribe,
    names.IDENTIFY: clients.identify,
    names.AUTH: clients.auth,
    names.RDY: clients.ready,
    names.CLS: clients.close,
    names.NOP: clients.do_nothing,
    names.INTERNAL_CREATE_TOPIC: clients.create,
}


def expect(target_state: TargetState, before: bytes, data: bytes) -> Expectation:
    """Return the valid answers to `data`, sent on a connection after `before`."""
    start = target_state.starts.get(before)
    if start is None:
        start = RequestTracker(target_state, before)
        if before:
            _go(start)
        if len(target_state.starts) < STARTS:
            target_state.starts[before] = start
    known = target_state.starts.get(data) if data and not before else None
    walk = known or RequestTracker(target_state, data, start.state)
    if known is None:
        if start.waits or not start.certain:
            walk.leave()
        _go(walk)
    owed = tuple(walk.owed)
    if walk.waits:
        owed += (Owed(ERRORS, "may", optional=True),)
    moves = walk.state != start.state
    # Behind bytes whose meaning is not known, an IDENTIFY may be read all the same.
    unknown = not walk.certain and b"IDENTIFY" in data[walk.at :]
    opaque = walk.opaque or (unknown and may_change_the_stream(data[walk.at :]))
    return Expectation(owed, walk.certain, walk.waits, moves, opaque)


def _go(walk: RequestTracker) -> None:
    """Read command after command until the bytes end or become ambiguous."""
    if not walk.state.opened:
        _open(walk)
    while walk.certain and not walk.waits and walk.at < len(walk.data):
        _command(walk)


def _open(walk: RequestTracker) -> None:
    magic = walk.data[: len(names.MAGIC)]
    walk.at = len(magic)
    if magic == names.MAGIC:
        walk.state = replace(walk.state, opened=True)
    elif len(magic) < len(names.MAGIC):
        walk.waits = True
    else:
        walk.refuse(ends="must")
        walk.certain = False


def _command(walk: RequestTracker) -> None:
    if walk.data.startswith(_ACKNOWLEDGEMENTS, walk.at):
        name = walk.data[walk.at : walk.data.index(b" ", walk.at)]
        _acknowledgement(walk, name)
        return
    end = walk.data.find(b"\n", walk.at, walk.at + limits.MAX_LINE_SIZE)
    if end < 0:
        _endless(walk)
        return
    line = walk.data[walk.at : end].removesuffix(b"\r")
    walk.at = end + 1
    words = line.split(b" ")
    handler = _COMMANDS.get(words[0])
    if _is_open(walk, line, words[0]):
        walk.leave()
    elif handler is None:
        _assume_unknown(walk, words[0])
    else:
        handler(walk, words)


def _is_open(walk: RequestTracker, line: bytes, name: bytes) -> bool:
    """Return True if the texts leave open what a line means, or the target has a right to refuse.

    Words may be parted by tabs and by several blanks, and a broker may insist on IDENTIFY.
    """
    state, target = walk.state, walk.target_state
    if b"\t" in line or b"  " in line or line.endswith(b" "):
        return True
    if name in target.unknown:
        return True
    return target.needs_identify and not state.identified and name != names.IDENTIFY


def _endless(walk: RequestTracker) -> None:
    if len(walk.data) - walk.at < limits.MAX_LINE_SIZE:
        walk.waits = True
        return
    walk.owed.append(Owed(ERRORS, "must", optional=True))
    walk.certain = False


def _assume_unknown(walk: RequestTracker, name: bytes) -> None:
    # Deployed brokers look at the first letters only.
    if name[:3] in (b"FIN", b"REQ") or name[:5] == b"TOUCH":
        walk.leave()
    else:
        walk.refuse()


def _acknowledgement(walk: RequestTracker, name: bytes) -> None:
    """Allow at most an error for an acknowledgement with a well-placed id and line end."""
    if name == names.TOUCH and names.MPUB in walk.target_state.unknown:
        walk.leave()
        return
    start = walk.at + len(name) + 1
    end = start + MESSAGE_ID_SIZE
    line_end = walk.data.find(b"\n", end, walk.at + limits.MAX_LINE_SIZE)
    behind_id = walk.data[end:line_end] if line_end >= 0 else None
    has_form = behind_id is not None and (
        behind_id.startswith(b" ") if name == names.REQ else not behind_id
    )
    if behind_id is None or not has_form or b"\n" in walk.data[start:end]:
        walk.leave()
        return
    walk.at = line_end + 1
    right = name != names.REQ or behind_id[1:].isdigit()
    right = right and 0 < int.from_bytes(walk.data[start : start + 8]) < _POSITIVE
    ends: Ends = "no" if right and walk.state.subscribed and walk.state.sure else "may"
    walk.owed.append(Owed(ERRORS, ends, optional=True))
