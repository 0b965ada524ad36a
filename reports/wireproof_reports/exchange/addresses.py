"""Where the connections of a recorded exchange went: the target, its HTTP port, or others."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import parse_qs

from wireproof_reports.exchange.annotation import read_bytes
from wireproof_reports.exchange.protocol import report_part
from wireproof_spec.fuzz_record import FindingRecord
from wireproof_spec.record import CaseRecord, HeaderRecord
from wireproof_spec.step_record import StepRecord

HTTP = "http"
"""Stands in a script for the address of the target's HTTP port."""
_METHOD = re.compile(r"[A-Z]+ /")
"""Begins the names of frames that are HTTP requests."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """HOST:PORT of a target and of its HTTP port; empty if the bundle does not tell.

    ``is_given``: the URL of the target names its HTTP port.
    """

    target: str
    http: str
    is_given: bool

    def of_connection(self, note: str) -> str:
        """Return what a script connects to: nothing for the target, HTTP, or another address."""
        if not _is_address(note):
            return ""
        if note == self.http:
            return HTTP
        own = self.target.rpartition(":")[2]
        return note if note.rpartition(":")[2] != own else ""

    def of_request(self, request: bytes) -> str:
        """Return the same for an HTTP request that was recorded without its connection.

        In a cluster the Host header names the node.
        """
        named = re.search(rb"(?i)\r\nhost: *([^\r\n]+)", request)
        host = named[1].decode("latin-1") if named and not self.is_given else ""
        return host if _is_address(host) and host != self.http else HTTP


def addresses_of(
    header: HeaderRecord, case: CaseRecord, finding: FindingRecord | None = None
) -> Addresses:
    """Return the addresses of a case: from its target's URL, else from its connections."""
    over_http, others = _connected(case.transcript.steps, finding)
    target = _netloc(header) or next(iter(others), "")
    given = parse_qs(header.target.parts().query).get("http", [""])[0].rpartition("//")[2]
    is_given = _is_address(given)
    http = given if is_given else next(iter(over_http), "") or _usual_http(header, target)
    return Addresses(target, http, is_given)


def split_address(address: str) -> str:
    """Return HOST PORT, as programs for sockets take them."""
    host, _, port = address.rpartition(":")
    return f"{host.strip('[]')} {port}" if host else ""


def _connected(
    steps: Sequence[StepRecord], finding: FindingRecord | None
) -> tuple[Sequence[str], Sequence[str]]:
    """Return the addresses of connections that spoke HTTP, and those of others."""
    is_asked = finding is not None and all(_METHOD.match(case.frame) for case in finding.cases)
    speaking = {
        step.conn
        for step in steps
        if is_asked or (step.kind == "receive" and read_bytes(step).startswith(b"HTTP/"))
    }
    opened = [step for step in steps if step.kind == "open" and _is_address(step.note)]
    over_http = [step.note for step in opened if step.conn in speaking]
    return over_http, [step.note for step in opened if step.conn not in speaking]


def _netloc(header: HeaderRecord) -> str:
    return header.target.parts().netloc.rpartition("@")[2]


def _usual_http(header: HeaderRecord, target: str) -> str:
    behind = report_part(header.target.protocol).http_behind
    host, _, port = target.rpartition(":")
    return f"{host}:{int(port) + behind}" if port.isdecimal() and behind is not None else ""


def _is_address(text: str) -> bool:
    return re.fullmatch(r"[\w.\[\]:-]+:\d{1,5}", text) is not None
