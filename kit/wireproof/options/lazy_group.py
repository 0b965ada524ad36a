"""Commands that are imported when used, and help that begins with examples.

Measured import times: pytest, hypothesis and scapy.packet 150 ms each, pyspark 150 to 320 ms, a
bare interpreter 13 ms. So each command imports what it needs, and help appears at once.
"""

import importlib
import inspect
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

import click
from click.shell_completion import CompletionItem

from wireproof.commands.table import CommandEntry
from wireproof.options.global_options import MannerOption, add_manner
from wireproof.options.suggestions import nearest_words, suggestion
from wireproof.view.terminal import columns

Examples = Sequence[tuple[str, str]]

COMPLETION = "_WIREPROOF_COMPLETE"
"""The variable that the script of `wireproof completion` sets to ask what may follow."""

HELP_OPTIONS = ["-h", "--help"]


class HelpFormatter(click.HelpFormatter):
    """A formatter of help as wide as other output; click's own has 50 columns at least."""

    def __init__(self, **_: object) -> None:
        super().__init__(width=columns() - 2)

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        """Write names and their meanings in two columns; in a narrow help the first is narrow."""
        super().write_dl(rows, min(col_max, self.width * 2 // 5), col_spacing)


class Context(click.Context):
    """A click context whose help is formatted by `HelpFormatter` and asked for by -h or --help.

    A command keeps the help option that its first context names, so every context must name the
    same: one made only to look at a command too.
    """

    formatter_class = HelpFormatter

    def __init__(
        self,
        command: click.Command,
        parent: click.Context | None = None,
        info_name: str | None = None,
        *,
        help_option_names: list[str] | None = None,
        **more: Any,
    ) -> None:
        names = HELP_OPTIONS if help_option_names is None else help_option_names
        super().__init__(command, parent, info_name, help_option_names=names, **more)


class Command(click.Command):
    """A click command whose help begins with examples: (command line, description) pairs.

    ``has_manner`` is False if all arguments are passed to another program.
    """

    context_class = Context
    has_manner = True

    def __init__(self, *args: object, examples: Examples = (), **more: object) -> None:
        super().__init__(*args, **more)  # type: ignore[arg-type]
        self.examples = examples

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help of a command: summary, examples, usage and options, in this order."""
        _write_help(self, ctx, formatter, self.examples)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of the command, then those that every command has."""
        write_options(self, ctx, formatter)


class Group(click.Group):
    """A click command with subcommands whose help begins with examples."""

    context_class = Context

    def __init__(self, *args: object, examples: Examples = (), **more: object) -> None:
        super().__init__(*args, **more)  # type: ignore[arg-type]
        self.examples = examples

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a group's help: summary, examples, usage, subcommands, options, in this order."""
        _write_help(self, ctx, formatter, self.examples)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of subcommands, then the options."""
        self.format_commands(ctx, formatter)
        write_options(self, ctx, formatter)


class LazyGroup(Group):
    """The click command ``wireproof``: a table lists its subcommands, imported only when used."""

    def __init__(
        self, name: str, table: Mapping[str, CommandEntry], *, examples: Examples, **more: object
    ) -> None:
        super().__init__(name, examples=examples, **more)
        self._table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the subcommands in the order of the table."""
        return list(self._table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the subcommand with this name; None if there is none."""
        entry = self._table.get(cmd_name)
        if entry is None:
            return None
        command = _load(entry)
        return add_manner(command) if getattr(command, "has_manner", True) else command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the subcommand that the first argument names, and the remaining arguments."""
        if args and args[0] not in self._table and not args[0].startswith("-"):
            raise click.UsageError(_describe_unknown(args[0], self._table), ctx)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the subcommands and options that complete a word, without importing any."""
        found = [
            CompletionItem(name, help=entry.promise)
            for name, entry in self._table.items()
            if name.startswith(incomplete)
        ]
        return found or click.Command.shell_complete(self, ctx, incomplete)

    def find_with_option(self, option: str) -> list[str]:
        """Return the subcommands that have an option; one that cannot be imported is left out."""
        found: list[str] = []
        for name, entry in self._table.items():
            with suppress(ImportError):
                if option in _list_options(_load(entry)):
                    found.append(name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of subcommands with their summaries, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.promise) for name, entry in self._table.items()])


def describe_unknown_option(error: click.NoSuchOption) -> str:
    """Return a sentence on an option that a command does not have, and what may be meant."""
    option, context = error.option_name, error.ctx
    told = f"no such option {option!r}"
    if context is None:
        return told
    root = context.find_root().command
    if isinstance(root, LazyGroup):
        if others := [f"`wireproof {name}`" for name in root.find_with_option(option)]:
            return f"{told}; it is an option of {', '.join(others)}"
        if option.lstrip("-") in root.list_commands(context):
            return f"{told}; did you mean `wireproof {option.lstrip('-')}`?"
    known = {name.lstrip("-"): name for name in _list_options(context.command)}
    near = nearest_words(option.lstrip("-"), list(known), cutoff=0.6)
    return f"{told}; did you mean {known[near[0]]!r}?" if near else told


def _list_options(command: click.Command) -> list[str]:
    options = (param for param in command.params if isinstance(param, click.Option))
    return [name for option in options for name in (*option.opts, *option.secondary_opts)]


def write_options(
    command: click.Command, ctx: click.Context, formatter: click.HelpFormatter
) -> None:
    """Write the options of a command, then those that every command has."""
    own: list[tuple[str, str]] = []
    shared: list[tuple[str, str]] = []
    for param in command.get_params(ctx):
        record = param.get_help_record(ctx)
        if record is not None and isinstance(param, click.Option):
            (shared if isinstance(param, MannerOption) else own).append(record)
    for title, records in (("Options", own), ("Options of every command", shared)):
        if records:
            with formatter.section(title):
                formatter.write_dl(records)


def _write_help(
    command: click.Command, ctx: click.Context, formatter: click.HelpFormatter, examples: Examples
) -> None:
    promise, _, rest = inspect.cleandoc(command.help or "").partition("\n")
    formatter.write_text(promise)
    if examples:
        with formatter.section("Examples"):
            for line, meaning in examples:
                text = click.wrap_text(meaning, formatter.width, " " * 6, " " * 6)
                formatter.write(f"  {line}\n{text}\n")
    formatter.write_paragraph()
    command.format_usage(ctx, formatter)
    if rest.strip():
        formatter.write_paragraph()
        formatter.write_text(rest.strip())
    command.format_options(ctx, formatter)


def _describe_unknown(name: str, table: Mapping[str, CommandEntry]) -> str:
    if "://" in name:
        return f"no command given for {name}; did you mean `wireproof run {name}`?"
    return f"no such command {name!r}{suggestion(name, list(table))}"


def _load(entry: CommandEntry) -> click.Command:
    module, _, name = entry.command.partition(":")
    return cast(click.Command, getattr(importlib.import_module(module), name))
