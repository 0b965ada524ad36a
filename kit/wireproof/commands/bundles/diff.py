"""``wireproof diff``: two bundles compared, case by case."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import get_args

import click
import msgspec

from wireproof.options.global_options import manner
from wireproof.options.lazy_group import Command
from wireproof.options.run_options import ORIGINS_HELP
from wireproof.options.suggestions import suggestion
from wireproof.view.comparison import comparison, format_last_line
from wireproof.view.comparison_markdown import comparison_markdown
from wireproof.view.events import (
    ChangeEvent,
    ComparedBundle,
    ComparedCase,
    DiffEvent,
    compared_case,
    target_object,
    write_event,
)
from wireproof.view.output import write_lines
from wireproof.view.style import Style
from wireproof_kit.bundle.file import Bundle, read_bundle
from wireproof_kit.errors import UsageFault
from wireproof_kit.runner.request import read_origins
from wireproof_kit.verdicts.diff import KINDS, Change, Comparison, Kind, compare
from wireproof_kit.verdicts.outcome import EXIT_FAILED, EXIT_GOOD, EXIT_UNDECIDED
from wireproof_spec.record import CaseRecord

EXAMPLES = (
    ("wireproof diff last.jsonl out/run.jsonl", "show what changed since the last run"),
    ("wireproof diff A B --fail-on regressed,unstable", "exit with 1 if a case got worse"),
    ("wireproof diff A B --md > changes.md", "write Markdown for a pull request or release notes"),
)

_FILE = click.Path(path_type=Path)
_CLASSES = "Classes, separated by commas; exit with 1 if a case is in one."


class _Command(Command):
    """The command ``diff``, whose help ends with the classes and their meanings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of the command, then the classes."""
        super().format_options(ctx, formatter)
        with formatter.section("Classes"):
            formatter.write_dl(list(KINDS.items()))


@click.command("diff", cls=_Command, examples=EXAMPLES)
@click.argument("before", type=_FILE, metavar="A")
@click.argument("after", type=_FILE, metavar="B")
@click.option("--fail-on", multiple=True, metavar="CLASSES", help=_CLASSES)
@click.option("--origin", metavar="ORIGINS", help=f"{ORIGINS_HELP}.")
@click.option("--md", "markdown", is_flag=True, help="Print Markdown.")
def diff(
    before: Path, after: Path, *, fail_on: tuple[str, ...], origin: str | None, markdown: bool
) -> int:
    """Compare two bundles: A is the earlier run, B the later one.

    Two cases are the same if their id and content hash agree; a changed case is listed
    separately. --fail-on counts up to the level of B's profile. A known deviation does not count
    as regressed. With --fail-on the exit code is 1 if a case is in one of the classes. It is 3 if
    none is, but a run was interrupted, so that cases are missing.
    """
    kinds = _kinds(fail_on)
    if markdown and manner().json:
        raise UsageFault("--md and --json were given together; expected one of them")
    found = _with_origins(compare(read_bundle(before), read_bundle(after)), origin)
    code = _exit_code(found, kinds)
    _tell(found, code, markdown=markdown)
    return code


def _exit_code(found: Comparison, kinds: tuple[Kind, ...]) -> int:
    if found.meets(kinds):
        return EXIT_FAILED
    return EXIT_UNDECIDED if kinds and found.list_cut_off() else EXIT_GOOD


def _with_origins(found: Comparison, origin: str | None) -> Comparison:
    """Let the musts of these origins count, instead of those that counted in B."""
    if origin is None:
        return found
    header = msgspec.structs.replace(found.after.header, origins=read_origins(origin))
    return replace(found, after=replace(found.after, header=header))


def _kinds(asked: tuple[str, ...]) -> tuple[Kind, ...]:
    words = [word.strip() for text in asked for word in text.split(",")]
    known: tuple[Kind, ...] = get_args(Kind)
    for word in words:
        if word not in known:
            raise UsageFault(f"--fail-on {word!r} is no class{suggestion(word, known)}")
    return tuple(kind for kind in known if kind in words)


def _tell(found: Comparison, code: int, *, markdown: bool) -> None:
    said = manner()
    apart = said.json or markdown
    out = sys.stderr if apart else sys.stdout
    style = Style(said.is_coloured(out))
    if said.json:
        write_event(sys.stdout, diff_event(found, code))
    elif markdown:
        write_lines(sys.stdout, comparison_markdown(found))
    if not said.quiet and not markdown:
        write_lines(out, comparison(found, verbose=said.verbose, style=style))
    write_lines(out, [format_last_line(found, code, style=style)])


def diff_event(found: Comparison, code: int) -> DiffEvent:
    """Return the JSON event of a comparison, with an exit code."""
    return DiffEvent(
        a=_bundle(found.before),
        b=_bundle(found.after),
        differences={item.name: (item.before, item.after) for item in found.differences},
        compared=found.compared,
        interrupted=found.list_cut_off(),
        counts={kind: len(found.of(kind)) for kind in KINDS},
        cases=[_change(change) for change in found.changes],
        exit=code,
    )


def _bundle(bundle: Bundle) -> ComparedBundle:
    header = bundle.header
    target = target_object(header.target.url, header.target.fingerprint)
    return ComparedBundle(str(bundle.path), target, header.kit, header.spec)


def _change(change: Change) -> ChangeEvent:
    pair = change.pair
    return ChangeEvent(pair.case, change.kind, _case(pair.before), _case(pair.after))


def _case(record: CaseRecord | None) -> ComparedCase | None:
    return None if record is None else compared_case(record)
