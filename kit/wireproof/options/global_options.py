"""The options that every command understands, before or after its name."""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Literal, TypeVar

import click

from wireproof.view.terminal import is_dumb

Colour = Literal["auto", "always", "never"]

T = TypeVar("T", click.Command, click.Group)

_KEY = "wireproof.options.global_options"


@dataclass(frozen=True, slots=True)
class OutputStyle:
    """The options on output that every command has.

    ``verbose`` counts the letters v; ``json`` puts machine output on stdout and everything
    else on stderr; ``no_input`` makes a question an error.
    """

    config: Path | None = None
    quiet: bool = False
    verbose: int = 0
    color: Colour = "auto"
    json: bool = False
    no_input: bool = False

    def is_coloured(self, stream: IO[str]) -> bool:
        """Return True if text written to this stream is coloured."""
        if self.color != "auto":
            return self.color == "always"
        return not os.environ.get("NO_COLOR") and stream.isatty() and not is_dumb()


def manner() -> OutputStyle:
    """Return the output options of the command that is running."""
    context = click.get_current_context(silent=True)
    return OutputStyle() if context is None else context.meta.get(_KEY, OutputStyle())


def add_manner(command: T) -> T:
    """Add the common output options to a command and its subcommands where they have none."""
    taken = {name for param in command.params for name in param.opts}
    for option in _options():
        if taken.isdisjoint(option.opts):
            command.params.append(option)
    if isinstance(command, click.Group):
        for below in command.commands.values():
            add_manner(below)
    return command


class MannerOption(click.Option):
    """An option that every command has; its value is kept apart from the parameters."""


def _options() -> list[click.Option]:
    return [
        _option("--config", type=click.Path(path_type=Path), metavar="FILE", help=_CONFIG_HELP),
        _option("-q", "--quiet", is_flag=True, help="Print only the result."),
        _option(
            "-v",
            "--verbose",
            count=True,
            help="Print exchanges of failing cases; -vv: every byte.",
        ),
        _option("--color", type=click.Choice(("auto", "always", "never")), help=_COLOR_HELP),
        _option("--json", is_flag=True, help="Print JSON on stdout, everything else on stderr."),
        _option("--no-input", is_flag=True, help="Never prompt; a missing answer is an error."),
    ]


_CONFIG_HELP = "Read this file, not ./wireproof.toml or [tool.wireproof] in ./pyproject.toml."
_COLOR_HELP = "Use colour; auto: on a terminal, unless NO_COLOR is set or TERM is dumb."


def _option(*names: str, **more: object) -> click.Option:
    settings = {"expose_value": False, "callback": _remember, **more}
    return MannerOption(names, **settings)  # type: ignore[arg-type]  # click's own keywords


def _remember(context: click.Context, param: click.Parameter, value: object) -> None:
    """Keep an option that is given, before or after the command's name."""
    if value and param.name:
        meta = context.meta
        meta[_KEY] = replace(meta.get(_KEY, OutputStyle()), **{param.name: value})
