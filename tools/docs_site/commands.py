"""A page for each command: synopsis, examples, options and exit codes, from what click knows."""

import inspect
import re
from collections.abc import Iterator, Sequence

import click
from page import Page, code, page, prose, table, words

from wireproof.commands.table import COMMANDS
from wireproof.main import INTERRUPTED, NOT_DONE, PIPE_CLOSED
from wireproof.options.global_options import MannerOption, add_manner
from wireproof.options.lazy_group import LazyGroup

FOLDER = "reference/commands"
SENTENCE = re.compile(r"(?<=\.) (?=[A-Z-])")
SHARED = (
    (0, "done; nothing stands against it"),
    (NOT_DONE, "the command could not be done; one sentence on stderr says why"),
    (INTERRUPTED, "interrupted; what was written is usable"),
    (PIPE_CLOSED, "the reader of stdout went away"),
)


def pages() -> Iterator[Page]:
    """Yield the list of commands and a page for each."""
    root = add_manner(LazyGroup("wireproof", COMMANDS, examples=()))
    top = click.Context(root, info_name="wireproof")
    rows = [(f"[{code(name)}]({name}.md)", words(e.promise)) for name, e in COMMANDS.items()]
    shared = [param for param in root.params if isinstance(param, MannerOption)]
    lines = [
        "# Commands",
        "",
        "Every command prints its help with `--help`.",
        *table(("command", "does"), rows),
        "## Options of every command",
        "",
        *_options(shared, top),
        "## Exit codes of every command",
        *table(("code", "meaning"), [(str(number), text) for number, text in SHARED]),
        "Commands that judge have more codes: see their pages, and [verdicts](../../verdicts.md).",
    ]
    yield page(f"{FOLDER}/index.md", lines)
    for name in COMMANDS:
        command = root.get_command(top, name)
        assert command is not None
        yield page(f"{FOLDER}/{name}.md", _command(command, top, name, 1))


def _command(command: click.Command, above: click.Context, name: str, depth: int) -> Iterator[str]:
    context = command.context_class(
        command, info_name=name, parent=above, **command.context_settings
    )
    promise, _, rest = inspect.cleandoc(command.help or "").partition("\n")
    below = command.commands if isinstance(command, click.Group) else {}
    yield f"{'#' * depth} {context.command_path}"
    yield ""
    yield words(promise)
    yield ""
    yield from _fence([context.get_usage().removeprefix("Usage: ")])
    codes, text = _split_exit_codes(rest)
    yield prose(text)
    examples: Sequence[tuple[str, str]] = getattr(command, "examples", ())
    if examples:
        yield from ("", f"{'#' * depth}# Examples", "")
        for line, meaning in examples:
            yield from (f"{prose(meaning[:1].upper() + meaning[1:])}:", "", *_fence([line]))
    own = [param for param in command.params if not isinstance(param, MannerOption)]
    if any(isinstance(param, click.Option) for param in own):
        yield from ("", f"{'#' * depth}# Options", "")
        yield from _options(own, context)
    if not below:
        yield from ("", f"{'#' * depth}# Exit codes", "")
        yield prose(" ".join(codes))
        yield "The [codes of every command](index.md#exit-codes-of-every-command) apply."
    for sub, each in below.items():
        yield ""
        yield from _command(each, context, sub, depth + 1)


def _split_exit_codes(text: str) -> tuple[list[str], str]:
    """Return the sentences of a help text on exit codes, and the text without them."""
    codes: list[str] = []
    others: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text):
        sentences = SENTENCE.split(" ".join(paragraph.split()))
        codes += [sentence for sentence in sentences if "exit code" in sentence.lower()]
        others.append(
            " ".join(sentence for sentence in sentences if "exit code" not in sentence.lower())
        )
    return codes, "\n\n".join(others)


def _options(params: Sequence[click.Parameter], context: click.Context) -> Iterator[str]:
    for param in params:
        record = param.get_help_record(context)
        if record is not None:
            yield code(record[0])
            yield f":   {prose(record[1]) or '-'}"
            yield ""


def _fence(lines: Sequence[str]) -> Iterator[str]:
    yield "```console"
    yield from lines
    yield "```"
    yield ""
