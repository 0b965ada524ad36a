"""Writes a finding against a system as a script that needs only Python and its adapter."""

import inspect
from collections.abc import Iterator

from wireproof_kit.fuzz.campaign.records import read_cases
from wireproof_kit.fuzz.case import Step
from wireproof_kit.oms.fuzz import standalone
from wireproof_kit.oms.fuzz.placeholders import BODY, DESTINATION, TRANSACTION
from wireproof_kit.oms.fuzz.requests import read_due, read_request
from wireproof_kit.protocols import adapter_reference, read_target
from wireproof_kit.wire.address import format_address
from wireproof_spec.fuzz_record import FindingRecord
from wireproof_spec.oms import names
from wireproof_spec.strict_json import JsonValue

_EMPTY = "CASE: dict[str, Any] = {}\n"
_REFERENCE = "reference"


def write_script(finding: FindingRecord, url: str) -> str:
    """Return the script; all that comes from the finding is written as literals."""
    carried = (str, int) if names.PROPERTIES in finding.words else ()
    told: dict[str, JsonValue] = {
        "finding": finding.id,
        "violated": finding.violated,
        "target": _target(url),
        "names": [DESTINATION, BODY, TRANSACTION],
        "requests": [
            request
            for case in read_cases(finding)
            for step in case.steps
            for request in _requests(step, carried)
        ],
    }
    return inspect.getsource(standalone).replace(_EMPTY, f"CASE: dict[str, Any] = {told!r}\n", 1)


def _target(url: str) -> str:
    target = adapter_reference("oms") if url == _REFERENCE else read_target(url)
    if target is not None and target.adapter is not None:
        return target.adapter
    return "" if target is None else format_address((target.host, target.port))


def _requests(step: Step, carried: tuple[type, ...]) -> Iterator[JsonValue]:
    """Yield the request of a step with what it owes; none if nothing is sent."""
    request = read_request(step.data)
    if request is None:
        return
    due = read_due(request, step.data, names.ATTRIBUTES, carried, DESTINATION, 0)
    owed: JsonValue = None
    if due is not None:
        owed = {
            "key": "" if due.key == BODY else due.key,
            names.EXTENSION_HEADER: dict(due.attributes),
            names.PROPERTIES: dict(due.properties),
        }
    yield {"text": step.data.hex(), "op": request["op"], "due": owed}
