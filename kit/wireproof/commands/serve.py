"""``wireproof serve``: the reference broker, in this process."""

import click

from wireproof.options.lazy_group import Command
from wireproof.options.suggestions import suggestion
from wireproof_kit.protocols import list_with_reference, refuse_without_reference, server

EXAMPLES = (
    ("wireproof serve nsq", "run an NSQ broker on the usual ports"),
    ("wireproof serve nsq --tcp 127.0.0.1:0 --json", "use a free port and print it as JSON"),
    ("wireproof serve nsq --dialect deployed", "behave like the deployed broker"),
    ("wireproof serve nsq --list-faults", "list the faults that can be switched on"),
    ("wireproof serve nsq --help", "show all options of the broker"),
    ("wireproof serve iggy", "run an Iggy server of the generation that the text describes"),
    ("wireproof serve oms --stdio", "be an OpenMessaging broker behind an adapter"),
)


class _ServeCommand(Command):
    """Passes all arguments after the protocol's name on, ``--help`` included."""

    has_manner = False

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and not args[0].startswith("-"):
            ctx.params["protocol"], ctx.params["arguments"] = args[0], tuple(args[1:])
            return []
        return super().parse_args(ctx, args)


@click.command(
    "serve",
    cls=_ServeCommand,
    examples=EXAMPLES,
    context_settings={"ignore_unknown_options": True},
)
@click.argument("protocol", metavar="|".join(list_with_reference()))
@click.argument("arguments", nargs=-1, metavar="[OPTIONS OF THE BROKER]")
def serve(protocol: str, arguments: tuple[str, ...]) -> int:
    """Run the reference broker until SIGTERM or Ctrl-C."""
    refuse_without_reference(protocol)
    if protocol not in list_with_reference():
        hint = suggestion(protocol, list(list_with_reference()))
        raise click.UsageError(f"no reference broker {protocol!r}{hint}")
    try:
        return server(protocol)(list(arguments))
    except KeyboardInterrupt:  # before it listens: a signal is how it is to end, then, too
        return 0
