"""``wireproof client``: judges a client by its requests to peers that the kit plays."""

import inspect
from typing import Unpack

import click
from click.core import ParameterSource

from wireproof.commands.run import judge_target, list_chosen
from wireproof.options.global_options import MannerOption, manner
from wireproof.options.lazy_group import Command
from wireproof.options.run_options import client_options
from wireproof.options.target_choice import key_options, named_client, settings_for
from wireproof.running.request import RunParameters
from wireproof_kit.drivers.child import split_command
from wireproof_kit.errors import UsageFault
from wireproof_kit.protocols import kit_part, known_protocols
from wireproof_kit.targets.target import ON_CLIENTS, ROLES

EXAMPLES = (
    (
        "wireproof client --role consumer --exec './consume {lookupd} {topic}'",
        "judge a consumer by what it sends; the kit plays lookup servers and nodes",
    ),
    (
        "wireproof client --exec 'python3 driver.py'",
        "judge producer and consumer through a driver",
    ),
    (
        "wireproof client --protocol iggy --exec './driver'",
        "judge a client of Iggy; the kit plays a server over TCP and HTTP",
    ),
    (
        "wireproof client --protocol iggy --generation apache --exec './driver'",
        "the same, if it is one of Apache Iggy 0.9 and the kit is to take it for no other",
    ),
    (
        "wireproof client --check-driver 'python3 driver.py'",
        "say whether a driver keeps to the driver protocol",
    ),
    (
        "wireproof client --config wireproof.toml",
        "judge the client that a configuration names (`wireproof init` writes one)",
    ),
    (
        "wireproof client --exec CMD nsq/client-lookup",
        "only cases whose id, or whose clause id, begins with this",
    ),
)


class ClientParameters(RunParameters, total=False):
    """The options of ``wireproof client``: those of a run, and how the client is started."""

    command: str | None
    check_driver: str | None
    protocol: str
    role: str | None


def _judge_client(arguments: tuple[str, ...], **given: Unpack[ClientParameters]) -> int:
    """Judge a client, clause by clause.

    The command is started once a case. Without --exec, [target] url and role of the configuration
    name it. The kit fills in {role} and, for NSQ, {lookupd}, {topic}, {channel}, {nsqd} and
    others, for Iggy {tcp}, {http}, {transport}, {stream}, {topic} and {partition}. It sets the
    same as WIREPROOF_ROLE and so on. Arguments are prefixes of case or clause ids. Exit codes are
    those of `wireproof run`.
    """
    command, driver = given.pop("command", None), given.pop("check_driver", None)
    protocol, role = given.pop("protocol", None), given.pop("role", None)
    if protocol is not None and protocol not in _protocols():
        known = ", ".join(_protocols())
        raise UsageFault(f"--protocol {protocol}: clients can be judged of {known}")
    if driver is not None:
        _refuse_beside_check(click.get_current_context())
        from wireproof.commands.check_driver import report

        return report(driver, protocol or _protocols()[0])
    if command is not None:
        split_command(command)
        protocol = protocol or _protocols()[0]
    settings = settings_for(manner())
    named = named_client(arguments, settings, command=command, protocol=protocol, role=role)
    options: RunParameters = given
    options["reference"], options["topic"] = False, ()
    options["restart"], options["hazardous"], options["pid"] = None, False, None
    if options["dry_run"]:
        return list_chosen([(named, options)])
    return judge_target(named, options, settings, name="")


def _refuse_beside_check(context: click.Context) -> None:
    """Refuse what cannot be used with the check of a driver: all but the protocol and the output.

    Raises:
        UsageFault: an option or id is given that would be ignored.
    """
    for param in context.command.params:
        is_given = context.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
        is_known = param.name in ("check_driver", "protocol") or isinstance(param, MannerOption)
        if is_given and not is_known:
            name = param.opts[0] if isinstance(param, click.Option) else "the ids of cases"
            raise UsageFault(f"--check-driver judges no client; leave out {name}")


def _protocols() -> list[str]:
    """Return the protocols whose clients can be judged."""
    return [name for name in known_protocols() if f"{name}{ON_CLIENTS}" in kit_part(name).schemes]


client = Command(
    "client",
    callback=_judge_client,
    params=[
        click.Argument(["arguments"], nargs=-1, metavar="[IDS]..."),
        click.Option(["--exec", "command"], metavar="CMD", help="Command that starts the client."),
        click.Option(
            ["--role"],
            type=click.Choice(ROLES),
            help="Role that is judged. Default: each role that the client plays.",
        ),
        click.Option(
            ["--protocol"],
            metavar="NAME",
            help="Protocol of the client. Default: the first that is installed.",
        ),
        click.Option(
            ["--check-driver"], metavar="CMD", help="Check a driver instead of judging a client."
        ),
        *key_options("choice"),
        *client_options(),
    ],
    help=inspect.getdoc(_judge_client),
    examples=EXAMPLES,
)
