"""The connection states in which fuzz cases begin, and the frames that lead to them."""

import json
from collections.abc import Mapping

from wireproof_kit.fuzz.case import Frame, Step
from wireproof_kit.nsq.fuzz.names import Names
from wireproof_spec.decoding import encode
from wireproof_spec.nsq import limits, names
from wireproof_spec.nsq.command import command_line
from wireproof_spec.nsq.identify import IDENTIFY_BODY, IdentifyBody

FRESH = "fresh"
MAGIC_SENT = "magic-sent"
IDENTIFIED = "identified"
PLAIN = "identified-plain"
SUBSCRIBED_EXT = "subscribed"
SUBSCRIBED_PLAIN = "subscribed-plain"
ORDERED = "ordered"
CLOSING = "closing"
HTTP = "http"
BEFORE_LOGIN = (FRESH, MAGIC_SENT)
"""States before IDENTIFY; if the broker demands TLS or AUTH, its answers there are undefined."""

_SIZE = 4  # bytes in front of a body
_ENCODINGS = ("tls_v1", "deflate", "snappy")

HANDSHAKE = (MAGIC_SENT, IDENTIFIED, PLAIN)
NAMED = (IDENTIFIED, PLAIN)
SUBSCRIBED = (SUBSCRIBED_EXT, SUBSCRIBED_PLAIN, ORDERED)
IN_FLIGHT = (*SUBSCRIBED, CLOSING)
ALL = (*HANDSHAKE, *IN_FLIGHT)
TCP_STATES = (FRESH, *ALL)
BEATING = {state: f"{state}-beating" for state in (*NAMED, *IN_FLIGHT)}
"""For each state, the one for connections that are held open.

It has the shortest heartbeat interval and message time-out and no output buffering, and, where it
is subscribed, messages that nobody answers.
"""
_CALM: Mapping[str, int] = {"heartbeat_interval": limits.MAX_HEARTBEAT_INTERVAL_MS}
_SHORTEST: Mapping[str, int] = {
    "heartbeat_interval": limits.MIN_HEARTBEAT_INTERVAL_MS,
    "msg_timeout": limits.MIN_MSG_TIMEOUT_MS,
    "output_buffer_size": limits.DISABLED,
    "output_buffer_timeout": limits.DISABLED,
}
_IN_FLIGHT_COUNT = 100


def entry(there: Names) -> Mapping[str, tuple[Step, ...]]:
    """Return the frames that lead to each state.

    The broker must answer each frame except magic and RDY.
    """
    beating = _entry(there, _SHORTEST)
    ready = (_line(names.RDY, _IN_FLIGHT_COUNT),)
    taking = {state: (*beating[state], *ready) for state in SUBSCRIBED}
    taking[CLOSING] = (*taking[SUBSCRIBED_EXT], _line(names.CLS))
    twins = {twin: taking.get(state, beating[state]) for state, twin in BEATING.items()}
    return {**_entry(there, _CALM), **twins}


def _entry(there: Names, asked: Mapping[str, int]) -> Mapping[str, tuple[Step, ...]]:
    opened = (Step(names.MAGIC, label="magic"),)
    named = (*opened, _identify(asked, extend=True))
    plain = (*opened, _identify(asked, extend=False))
    channel, partition = there.channel, there.partition
    extended = _line(names.SUB, there.extended, channel, partition)
    ordered = _line(names.SUB_ORDERED, there.extended, f"{channel}_ordered", partition)
    return {
        FRESH: (),
        MAGIC_SENT: opened,
        IDENTIFIED: named,
        PLAIN: plain,
        SUBSCRIBED_EXT: (*named, extended),
        SUBSCRIBED_PLAIN: (*plain, _line(names.SUB, there.plain, channel, partition)),
        ORDERED: (*named, ordered),
        CLOSING: (*named, extended, _line(names.CLS)),
        HTTP: (),
    }


_IDENTIFY_EXTENDED = "IDENTIFY with extend_support"
_SUB_EXTENDED, _SUB_PLAIN = "SUB extended", "SUB plain"
_ORDERED_EXTENDED = "SUB_ORDERED extended"
_NAMING = {"IDENTIFY": PLAIN, _IDENTIFY_EXTENDED: IDENTIFIED}

MOVES: Mapping[str, Mapping[str, str]] = {
    FRESH: {"magic": MAGIC_SENT},
    MAGIC_SENT: _NAMING,
    IDENTIFIED: {
        **_NAMING,
        _SUB_EXTENDED: SUBSCRIBED_EXT,
        _ORDERED_EXTENDED: ORDERED,
    },
    PLAIN: {**_NAMING, _SUB_PLAIN: SUBSCRIBED_PLAIN},
    SUBSCRIBED_EXT: {"CLS": CLOSING},
    SUBSCRIBED_PLAIN: {"CLS": CLOSING},
    ORDERED: {"CLS": CLOSING},
}
"""For each state, the events that lead to another state."""
_PUBLISHING = ("PUB", "PUB_TRACE", "PUB_EXT", "MPUB", "MPUB_TRACE", "MPUB_EXT", "NOP")
_STAYING: Mapping[str, tuple[str, ...]] = {**dict.fromkeys(_PUBLISHING, ALL), "RDY": SUBSCRIBED}
"""Commands that do not change the state, with the states that allow them."""
_HOLDING_IDS = frozenset(("FIN", "REQ", "TOUCH"))


class Moves:
    """The state machine of a connection: the next state for each valid frame."""

    def __init__(self, there: Names) -> None:
        self._extended = there.extended.encode()

    def moves(self, state: str, frame: Frame) -> str | None:
        """Return the state after a valid frame; None when the broker may close the connection."""
        if frame.kind in _STAYING:
            return state if state in _STAYING[frame.kind] else None
        if frame.kind in _HOLDING_IDS:
            return state if state in IN_FLIGHT and _may_be_an_id(frame) else None
        return MOVES.get(state, {}).get(self._event(frame))

    def _event(self, frame: Frame) -> str:
        if frame.kind == "IDENTIFY":
            return _decode(frame.data.partition(b"\n")[2][_SIZE:])
        if frame.kind in ("SUB", "SUB_ORDERED"):
            topic = frame.data.split(b" ")[1]
            return f"{frame.kind} {'extended' if topic == self._extended else 'plain'}"
        return frame.kind


def _may_be_an_id(frame: Frame) -> bool:
    """Return True if the broker may have issued the id, so that an unknown id is no error."""
    identity = frame.data.partition(b" ")[2][:8]
    return 0 < int.from_bytes(identity, "big") < 1 << 63


def _decode(text: bytes) -> str:
    said: dict[str, object] = json.loads(text)
    if any(said.get(name) for name in _ENCODINGS):
        return ""  # another encoding may begin
    return _IDENTIFY_EXTENDED if said.get(names.EXTEND_SUPPORT) is True else "IDENTIFY"


def _identify(asked: Mapping[str, int], *, extend: bool) -> Step:
    """Return an IDENTIFY that requests intervals and sizes."""
    said = {"client_id": "wireproof", **asked, names.EXTEND_SUPPORT: extend}
    body = encode(IDENTIFY_BODY, IdentifyBody(json.dumps(said).encode()))
    return Step(command_line(names.IDENTIFY) + body, label="IDENTIFY")


def _line(name: bytes, *words: str | int) -> Step:
    return Step(command_line(name, *words), label=name.decode())
