"""``wireproof client --check-driver``: what a driver does right and wrong, one line a rule."""

import click

from wireproof_kit.drivers.check import check_driver
from wireproof_kit.drivers.child import split_command
from wireproof_spec.driver.lines import Fields
from wireproof_spec.strict_json import JsonValue


def report(command: str, protocol: str) -> int:
    """Write what holds of a driver; return 0 if it keeps every rule."""
    addresses: list[JsonValue] = ["127.0.0.1:1"]
    settings: Fields = {"lookupd": addresses}
    wrong = 0
    for finding in check_driver(split_command(command), settings=settings):
        wrong += bool(finding.wrong)
        told = f"FAIL {finding.rule}: {finding.wrong}" if finding.wrong else f"ok   {finding.rule}"
        click.echo(told)
    return 1 if wrong else 0
