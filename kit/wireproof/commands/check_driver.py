"""``wireproof client --check-driver``: checks a driver against the driver protocol."""

import sys
from collections.abc import Iterable
from dataclasses import asdict

from wireproof.options.global_options import manner
from wireproof.view.events import write_event
from wireproof.view.output import echo
from wireproof_kit.drivers.check import Finding
from wireproof_kit.errors import UsageFault
from wireproof_kit.protocols import kit_part


def report(command: str, protocol: str) -> int:
    """Check a client driver and print the result of each rule; return 0 if all are kept, else 1.

    Raises:
        UsageFault: the protocol has no drivers of clients, or the command cannot be started.
    """
    check = kit_part(protocol).check_client_driver
    if check is None:
        raise UsageFault(f"protocol {protocol!r} has no drivers of clients")
    return tell_findings(check(command))


def tell_findings(findings: Iterable[Finding]) -> int:
    """Print each rule that a driver was checked by, and the result; return 1 if one is broken."""
    code = 0
    for finding in findings:
        code = 1 if finding.wrong else code
        if manner().json:
            write_event(sys.stdout, {"event": "rule", **asdict(finding)})
        elif finding.wrong or not manner().quiet:
            echo(_line(finding))
    if manner().json:
        write_event(sys.stdout, {"event": "verdict", "exit": code})
    return code


def _line(finding: Finding) -> str:
    if finding.wrong:
        return f"FAIL {finding.rule}: {finding.wrong}"
    return f"n/a  {finding.rule}: {finding.lacks}" if finding.lacks else f"ok   {finding.rule}"
