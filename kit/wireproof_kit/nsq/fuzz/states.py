"""The states of a connection that cases begin in, and what brings one there."""

import json
from collections.abc import Mapping

from wireproof_kit.fuzz.case import Step
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

HANDSHAKE = (MAGIC_SENT, IDENTIFIED, PLAIN)
NAMED = (IDENTIFIED, PLAIN)
SUBSCRIBED = (SUBSCRIBED_EXT, SUBSCRIBED_PLAIN, ORDERED)
IN_FLIGHT = (*SUBSCRIBED, CLOSING)
ALL = (*HANDSHAKE, *IN_FLIGHT)
TCP_STATES = (FRESH, *ALL)


def entry(there: Names) -> Mapping[str, tuple[Step, ...]]:
    """Return what brings a connection into each state; every step but the magic is answered."""
    opened = (Step(names.MAGIC, label="magic"),)
    named = (*opened, _identify(extend=True))
    plain = (*opened, _identify(extend=False))
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


def _identify(*, extend: bool) -> Step:
    """Say who is there, with heartbeats as rare as may be."""
    said = {
        "client_id": "wireproof",
        "heartbeat_interval": limits.MAX_HEARTBEAT_INTERVAL_MS,
        names.EXTEND_SUPPORT: extend,
    }
    body = encode(IDENTIFY_BODY, IdentifyBody(json.dumps(said).encode()))
    return Step(command_line(names.IDENTIFY) + body, label="IDENTIFY")


def _line(name: bytes, *words: str | int) -> Step:
    return Step(command_line(name, *words), label=name.decode())
