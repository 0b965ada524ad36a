"""Write the man page and the completion scripts under `share/`, which the wheel carries.

    python tools/share.py

They are kept in the repository: a build has hatchling alone, and imports neither click nor the
commands. `kit/tests/selftest/test_share_tool.py` compares them with what this writes.
"""

import inspect
from collections.abc import Iterator
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from wireproof.main import root_command
from wireproof.options.global_options import MannerOption
from wireproof.options.lazy_group import COMPLETION
from wireproof_kit.version import KIT_VERSION

ROOT = Path(__file__).resolve().parent.parent
NAME = "wireproof"
COMPLETIONS = {
    "bash": "share/bash-completion/completions/wireproof",
    "zsh": "share/zsh/site-functions/_wireproof",
    "fish": "share/fish/vendor_completions.d/wireproof.fish",
}
MAN = "share/man/man1/wireproof.1"
EXIT_CODES = (
    ("0", "Every selected group was judged, and nothing new failed that counts."),
    ("1", "A new failure, or a known deviation that passes now or has expired."),
    ("2", "The job could not be done: no target, nothing selected, wrong arguments."),
    ("3", "Only inconclusive or unstable cases stand against conformance."),
    ("130", "Interrupted; the bundle is usable."),
)


def main() -> int:
    for name, text in shared_files().items():
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        print(name)
    return 0


def shared_files() -> dict[str, str]:
    """Return the text of each file by its path in the repository."""
    scripts = {path: completion_script(shell) for shell, path in COMPLETIONS.items()}
    return {MAN: "\n".join(man_page()) + "\n", **scripts}


def completion_script(shell: str) -> str:
    completion_class = get_completion_class(shell)
    assert completion_class is not None
    script = completion_class(root_command(), {}, NAME, COMPLETION)
    return f"{script.source_template % script.source_vars()}".rstrip("\n") + "\n"


def man_page() -> Iterator[str]:
    root = root_command()
    context = context_of(root, NAME)
    summary = (root.help or "").rstrip(".")
    yield f'.TH WIREPROOF 1 "" "{NAME} {KIT_VERSION}" "User Commands"'
    yield from (".SH NAME", f"{NAME} \\- {roff(summary[:1].lower() + summary[1:])}")
    yield from (
        ".SH SYNOPSIS",
        rf"\fB{NAME}\fR [\fIOPTIONS\fR] \fICOMMAND\fR [\fIARGUMENTS\fR]...",
    )
    yield from (".SH EXAMPLES", *examples(root))
    yield ".SH COMMANDS"
    for command, below in walk(root, context):
        yield from describe(command, below)
    yield ".SH OPTIONS"
    yield from options(own_options(root, context), context)
    yield ".SH OPTIONS OF EVERY COMMAND"
    yield from options(
        [param for param in root.params if isinstance(param, MannerOption)], context
    )
    yield from options([param for param in root.get_params(context) if is_help(param)], context)
    yield ".SH EXIT STATUS"
    for code, meaning in EXIT_CODES:
        yield from (".TP", rf"\fB{code}\fR", roff(meaning))
    yield ".SH FILES"
    yield from (".TP", r"\fIwireproof.toml\fR", "Settings of the current folder.")


def context_of(
    command: click.Command, name: str, parent: click.Context | None = None
) -> click.Context:
    """Return a context as a run makes it: click keeps the help option that the first one names."""
    return command.context_class(
        command, info_name=name, parent=parent, **command.context_settings
    )


def walk(
    group: click.Group, context: click.Context
) -> Iterator[tuple[click.Command, click.Context]]:
    """Yield each command below a group with its context, in the order of the help."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        below = context_of(command, name, context)
        yield command, below
        if isinstance(command, click.Group):
            yield from walk(command, below)


def describe(command: click.Command, context: click.Context) -> Iterator[str]:
    usage = command.collect_usage_pieces(context)
    yield f'.SS "{roff(context.command_path)}"'
    yield from (rf"\fB{roff(context.command_path)}\fR {roff(' '.join(usage))}", ".PP")
    yield from paragraphs(command.help or "")
    yield from options(own_options(command, context), context)
    yield from examples(command)


def own_options(command: click.Command, context: click.Context) -> list[click.Parameter]:
    params = command.get_params(context)
    return [
        parameter
        for parameter in params
        if not isinstance(parameter, MannerOption) and not is_help(parameter)
    ]


def is_help(param: click.Parameter) -> bool:
    return "--help" in param.opts


def options(params: list[click.Parameter], context: click.Context) -> Iterator[str]:
    for param in params:
        record = param.get_help_record(context) if isinstance(param, click.Option) else None
        if record is not None:
            yield from (".TP", rf"\fB{roff(record[0])}\fR", roff(record[1]) or r"\&")


def examples(command: click.Command) -> Iterator[str]:
    for line, meaning in getattr(command, "examples", ()):
        yield from (".PP", f"{roff(meaning[:1].upper() + meaning[1:])}:")
        yield from (".RS 4", ".nf", roff(line), ".fi", ".RE")


def paragraphs(text: str) -> Iterator[str]:
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        yield from (".PP", *(roff(line) for line in paragraph.lstrip("\b\n").splitlines()))


def roff(text: str) -> str:
    """Return a line of text that roff shows as it is."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq")
    escaped = escaped.replace("…", "...").replace("`", r"\(ga").replace('"', r"\(dq")
    return rf"\&{escaped}" if escaped.startswith((".", r"\(aq")) else escaped


if __name__ == "__main__":
    raise SystemExit(main())
