"""``wireproof help``: the help of a command, as ``--help`` after its name shows it."""

import click

from wireproof.options.lazy_group import Command

EXAMPLES = (
    ("wireproof help", "list the commands"),
    ("wireproof help run", "show the options of a command"),
    ("wireproof help serve nsq", "show the options of a reference broker"),
)


@click.command("help", cls=Command, examples=EXAMPLES)
@click.argument("command", nargs=-1, metavar="[COMMAND]...")
@click.pass_context
def show_help(context: click.Context, command: tuple[str, ...]) -> object:
    """Show the help of a command."""
    root = context.find_root().command
    with root.make_context(root.name, [*command, "--help"]) as asked:
        return root.invoke(asked)
