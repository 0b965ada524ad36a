"""``wireproof client --check-driver``: checks a driver against the driver protocol."""

from collections.abc import Iterable

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
    """Print one line for each rule that a driver was checked by; return 1 if one is broken."""
    wrong = 0
    for finding in findings:
        wrong += bool(finding.wrong)
        told = f"FAIL {finding.rule}: {finding.wrong}" if finding.wrong else f"ok   {finding.rule}"
        echo(told)
    return 1 if wrong else 0
