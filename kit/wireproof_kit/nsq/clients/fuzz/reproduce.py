"""Writes a finding against a client as a script that needs only Python and the client."""

from collections.abc import Mapping

from wireproof_kit.fuzz.campaign.records import read_cases
from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.clients.script import write_client_script
from wireproof_kit.fuzz.clients.writes import divide
from wireproof_kit.nsq.clients.client import NSQ_CLIENTS
from wireproof_kit.nsq.clients.driver_requests import CONSUME, PRODUCE, Asking
from wireproof_kit.nsq.clients.fuzz import sending, standalone, states
from wireproof_kit.nsq.clients.fuzz.documents import PORTS
from wireproof_kit.nsq.clients.fuzz.part import NAMES
from wireproof_kit.nsq.clients.fuzz.states import STATES, Situation
from wireproof_kit.protocols import read_target
from wireproof_spec.fuzz_record import FindingRecord
from wireproof_spec.strict_json import JsonValue


def write_script(finding: FindingRecord, url: str) -> str:
    """Return a Python script, with the finding as literals, that sends its cases to a client."""
    command = read_target(url).command or ""
    cases = read_cases(finding)
    situation = STATES[cases[-1].state].client
    told: dict[str, JsonValue] = {
        "finding": finding.id,
        "violated": finding.violated,
        "command": command,
        "cases": [_describe(case) for case in cases],
        "first_id": 1 + max(_highest(case, situation) for case in cases),
        "has_place": situation.has_place,
        "extend": situation.extend,
        "ordered": situation.ordered,
        "trace": situation.trace,
        "ports": {name: port.decode() for name, port in PORTS.items()},
        "values": dict[str, JsonValue](_values(situation)),
        "request": _request(situation),
        "repeats": situation.role == "producer",
    }
    return write_client_script(told, standalone)


def _describe(case: Case) -> JsonValue:
    pieces = [piece.hex() for piece in divide(case)]
    closes = sending.is_doubtful(case) or not sending.has_only_messages(case)
    return {"place": STATES[case.state].place, "pieces": list(pieces), "closes": closes}


def _highest(case: Case, situation: Situation) -> int:
    highest = sending.highest_place(case, extend=situation.extend) if situation.ordered else 0
    return min(highest, sending.HIGHEST - 1)


def _values(situation: Situation) -> Mapping[str, str]:
    return NSQ_CLIENTS.fill(states.script(situation), {}, NAMES)


def _request(situation: Situation) -> JsonValue:
    """Return what a driver is asked for after open."""
    asking = Asking(states.script(situation), **NAMES)
    op = PRODUCE if situation.role == "producer" else CONSUME
    return {"op": op, **asking.request(op)}
