"""``wireproof adapter``: checks the adapter of a system that has no wire format."""

import click

from wireproof.commands.check_driver import tell_findings
from wireproof.options.lazy_group import Command, Group
from wireproof_kit.errors import UsageFault
from wireproof_kit.protocols import kit_part, known_protocols

EXAMPLES = (
    (
        "wireproof adapter check 'java -jar my-adapter.jar'",
        "say in one sentence each what is wrong with an adapter",
    ),
)


@click.group("adapter", cls=Group, examples=EXAMPLES)
def adapter() -> None:
    """Check the adapter of a system: a program through which the kit reaches it."""


@adapter.command("check", cls=Command, examples=EXAMPLES)
@click.argument("command", metavar="CMD")
@click.option("--protocol", metavar="NAME", help="Protocol of the system.")
def check(command: str, *, protocol: str | None) -> int:
    """Start an adapter and check that it keeps to the adapter protocol.

    The check sends messages to destinations whose names begin with wp_. Exit code 1: a rule is
    broken. Exit code 2: the adapter cannot be started.
    """
    known = [name for name in known_protocols() if kit_part(name).check_adapter is not None]
    look = kit_part(protocol or known[0]).check_adapter
    if look is None:
        raise UsageFault(f"protocol {protocol!r} has no adapters; known: {', '.join(known)}")
    return tell_findings(look(command))
