"""``wireproof ingest``: take bundles into a history."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from wireproof.options.global_options import manner
from wireproof.options.lazy_group import Command
from wireproof.view.output import echo
from wireproof.view.progress import Progress
from wireproof_kit.decoding.printable import printable
from wireproof_kit.errors import UsageFault
from wireproof_kit.version import KIT_VERSION
from wireproof_reports.bundle_file import BundleFault
from wireproof_reports.pipeline.wanted import bundles_below, missing_package
from wireproof_reports.wording import count_noun

if TYPE_CHECKING:
    from wireproof_reports.pipeline.ingest import IngestResult

LISTED = 5

EXAMPLES = (
    ("wireproof ingest out/run.jsonl --history history", "add one run"),
    (
        "wireproof ingest runs/ --history history",
        "add all bundles below a folder, each of them once",
    ),
    (
        "wireproof ingest b.jsonl --history history --vendor Acme --version 2.1",
        "name the vendor and version of a target that does not report them",
    ),
)

_PATH = click.Path(path_type=Path)


@click.command("ingest", cls=Command, examples=EXAMPLES)
@click.argument("bundles", nargs=-1, required=True, type=_PATH, metavar="BUNDLE|FOLDER...")
@click.option(
    "--history",
    required=True,
    type=_PATH,
    metavar="DIR",
    help="Folder of the history; created if missing.",
)
@click.option("--vendor", default="", metavar="NAME", help="Vendor of the target.")
@click.option("--version", default="", metavar="VERSION", help="Version of the target.")
def ingest(bundles: tuple[Path, ...], history: Path, vendor: str, version: str) -> None:
    """Add bundles to a history of Parquet files, each bundle once.

    Either all bundles are added or none. A line that is not a record of this version goes to
    the quarantine of the history, with the reason. A bundle is recognised by its hash.
    """
    taken = take(bundles, history, vendor=vendor, version=version)
    if manner().json:
        told = {"event": "ingested", "history": str(history), **msgspec.to_builtins(taken)}
        echo(json.dumps(told))
    elif not manner().quiet:
        echo("\n".join(lines(taken, history)))


def take(
    named: tuple[Path, ...], history: Path, *, vendor: str = "", version: str = ""
) -> "IngestResult":
    """Take bundles, and those below the folders named, into a history.

    Raises:
        UsageFault: one is damaged or foreign, or the history cannot be written; nothing changed.
    """
    refuse_without("pyarrow")
    from wireproof_reports.pipeline.incoming import TargetNaming
    from wireproof_reports.pipeline.ingest import ingest as take_in
    from wireproof_reports.pipeline.manifest import HistoryFault

    progress = Progress("bundles")
    try:
        return take_in(
            list(_bundles(named)),
            history,
            naming=TargetNaming(vendor, version),
            kit=KIT_VERSION,
            tell=progress.update,
        )
    except (BundleFault, HistoryFault) as error:
        raise UsageFault(str(error)) from error


def refuse_without(*packages: str) -> None:
    """Say which package is missing before anything is done.

    Raises:
        UsageFault: one is not installed.
    """
    missing = missing_package(packages)
    if missing:
        raise UsageFault(
            f"this needs {missing}, which is not installed; "
            "install it with: pip install 'wireproof[spark]'"
        )


def lines(taken: "IngestResult", history: Path) -> Iterator[str]:
    """Return what an ingest came to, in words."""
    already = f", {taken.already} there already" if taken.already else ""
    merged = f", {count_noun(taken.merged, 'small file')} merged" if taken.merged else ""
    took = f"{count_noun(taken.bundles, 'bundle')} taken{already}"
    findings = f", {count_noun(taken.findings, 'finding')}" if taken.findings else ""
    came = f"{count_noun(taken.results, 'result')}{findings}{merged}"
    yield f"history  {history}   {took}; {came}"
    listed = taken.quarantined if manner().verbose else taken.quarantined[:LISTED]
    for bad in listed:
        yield f"quarantined  {bad.file}, line {bad.line}: {printable(bad.reason)}"
    rest = len(taken.quarantined) - len(listed)
    if rest:
        yield f"quarantined  {count_noun(rest, 'more line')}; -v lists them"


def _bundles(named: tuple[Path, ...]) -> Iterator[Path]:
    for path in named:
        if path.is_dir():
            yield from bundles_below(path)
        else:
            yield path
