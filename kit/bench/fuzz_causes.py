"""Whether what a campaign found is its fault's doing: sent again to a reference without it.

A finding counts for a fault only when it shows on the faulty reference and not on the correct one;
one that shows on both is a false alarm of ours, or another defect of the reference.
"""

import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from wireproof_kit.bundle.file import read_bundle
from wireproof_kit.fuzz.campaign.workers import TargetChoice
from wireproof_kit.fuzz.triage.confirm import repeat_finding
from wireproof_kit.targets.target import ON_CLIENTS
from wireproof_spec.fuzz_record import FindingRecord
from wireproof_spec.protocol import Group, entry_point

CLIENT = "-client"
"""What ends the name of a protocol whose example client is fuzzed, not its reference broker."""
MORE = 3
"""Runs that decide where the correct reference seems to be at fault as well."""

OFTEN = 20
"""Runs that decide where the faulty one seems to be right: how writes arrive is chance."""

Shows = Callable[[Sequence[str], FindingRecord, int], int]
"""Sends a finding to a reference with these options so often; returns how often it showed."""


def list_confirmed(bundle: Path) -> list[FindingRecord]:
    """Return the findings of a campaign that showed again."""
    return [
        finding
        for finding in read_bundle(bundle).findings
        if finding.shown and not finding.unconfirmed
    ]


def doubt(findings: Sequence[FindingRecord], fault: Sequence[str], shows: Shows) -> str:
    """Return why the fault did not cause the findings; empty if it caused every one.

    `fault` are the options that make a reference faulty.
    """
    for finding in findings:
        if shows((), finding, 1) and shows((), finding, MORE) == MORE:
            return f"{finding.id} shows on the correct reference, too"
        if not (shows(fault, finding, 1) or shows(fault, finding, OFTEN)):
            return f"{finding.id} does not show again on the faulty reference"
    return "" if findings else "nothing was confirmed"


def client_command(protocol: str, extra: Sequence[str]) -> str:
    """Return the command of the example client with these options."""
    module = entry_point(Group.CLIENTS, protocol.removesuffix(CLIENT)).module
    return shlex.join([sys.executable, "-m", module, *extra])


def shows_on(protocol: str) -> Shows:
    """Return what sends findings to references of a protocol, each started for it."""

    def shows(extra: Sequence[str], finding: FindingRecord, times: int) -> int:
        if protocol.endswith(CLIENT):
            scheme = protocol.removesuffix(CLIENT) + ON_CLIENTS
            place = TargetChoice(url=f"{scheme}:{client_command(protocol, extra)}")
        else:
            place = TargetChoice(protocol=protocol, extra=tuple(extra), token=f"f{finding.seed}")
        return sum(repeat_finding(place, finding, times, record=False).shown)

    return shows
