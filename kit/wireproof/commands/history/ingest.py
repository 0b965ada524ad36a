"""``wireproof ingest``: take bundles into a history."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from wireproof.options.global_options import manner
from wireproof.options.lazy_group import Command
from wireproof.options.spark_options import running_spark, spark_options, wanted_spark
from wireproof.view.output import write_lines
from wireproof_kit.decoding.printable import printable
from wireproof_kit.errors import UsageFault
from wireproof_kit.version import KIT_VERSION
from wireproof_reports.bundle_file import BundleFault
from wireproof_reports.pipeline.bundles.wanted import are_few, bundles_below
from wireproof_reports.pipeline.place import HistoryFault, check_writable, is_url
from wireproof_reports.wording import count_noun

if TYPE_CHECKING:
    from wireproof_reports.pipeline.ingest import How, IngestResult
    from wireproof_reports.pipeline.session import Wanted

LISTED = 5
EVERY_S = 1.0

EXAMPLES = (
    ("wireproof ingest out/run.jsonl --history history", "add one run"),
    (
        "wireproof ingest runs/ --history history",
        "add all bundles below a folder, each of them once",
    ),
    (
        "wireproof ingest landing/ --history history --watch",
        "go on adding bundles as they arrive, until Ctrl-C",
    ),
    (
        "wireproof ingest landing/ --history history --watch --once",
        "add the bundles that arrived since the last --watch, and end; for cron",
    ),
    (
        "wireproof ingest b.jsonl --history history --vendor Acme --version 2.1",
        "name the vendor and version of a target that does not report them",
    ),
)


@click.command("ingest", cls=Command, examples=EXAMPLES)
@click.argument("bundles", nargs=-1, required=True, metavar="BUNDLE|FOLDER|URL...")
@click.option(
    "--history",
    required=True,
    metavar="DIR|URL",
    help="Folder or URL of the history; created if missing.",
)
@click.option(
    "--vendor", default="", metavar="NAME", help="Vendor of targets that do not report one."
)
@click.option(
    "--version", default="", metavar="VERSION", help="Version of targets that do not report one."
)
@click.option("--watch", is_flag=True, help="Go on adding bundles that arrive, until Ctrl-C.")
@click.option(
    "--once", is_flag=True, help="With --watch: add what no earlier --watch has seen, then end."
)
@click.option(
    "--strict",
    is_flag=True,
    help="Add no bundle if one is refused; with --watch, add none of its batch, and end.",
)
@click.option(
    "--take-over",
    is_flag=True,
    help="Does nothing any more: an ingest that was killed leaves nothing behind.",
)
@spark_options
def ingest(
    bundles: tuple[str, ...],
    history: str,
    vendor: str,
    version: str,
    watch: bool,
    once: bool,
    strict: bool,
    take_over: bool,  # the option stays: scripts have it
    master: str,
    conf: tuple[str, ...],
) -> int:
    """Add bundles to a history, a Delta table, with Spark; each bundle once.

    A bundle is recognised by its hash. A bundle that is cut off, was changed after the run, or is
    of a newer version is refused; the others are added, and the exit code is 2. What is refused,
    and each line that is not a record of this version, is in the view quarantine, with the
    reason.
    """
    if once and not watch:
        raise UsageFault("--once needs --watch")
    spark = wanted_spark(master, conf)
    check_named(bundles, history, may_be_empty=watch)
    from wireproof_reports.pipeline.bundles.incoming import TargetNaming
    from wireproof_reports.pipeline.ingest import How

    how = How(TargetNaming(vendor, version), KIT_VERSION, strict=strict)
    if watch:
        return _watch(bundles, history, how, spark, once=once)
    taken = take(bundles, history, how, spark)
    _tell(taken, history)
    return finish(taken)


def check_named(bundles: tuple[str, ...], history: str, *, may_be_empty: bool = False) -> None:
    """Check that bundles and history exist, before the long start of Spark.

    Raises:
        UsageFault: a file does not exist, a folder has no bundle, or the history is no history.
    """
    try:
        for name in bundles:
            if is_url(name):
                continue
            path = Path(name)
            if path.is_dir():
                if not may_be_empty:
                    next(bundles_below(path))
            elif path.exists() and not path.is_file():  # to open a named pipe takes for ever
                raise UsageFault(f"cannot read {name}: it is no regular file")
            else:
                path.open("rb").close()
        check_writable(history)
    except (BundleFault, HistoryFault) as error:
        raise UsageFault(str(error)) from error
    except OSError as error:
        raise UsageFault(f"cannot read {error.filename}: {error.strerror}") from error


def take(bundles: tuple[str, ...], history: str, how: "How", wanted: "Wanted") -> "IngestResult":
    """Start Spark and add bundles to a history; a folder stands for all bundles in it.

    Raises:
        UsageFault: Spark or the history failed; or, if strict, a bundle is damaged or foreign.
    """
    from wireproof_reports.pipeline.ingest import ingest as take_in

    with running_spark(replace(wanted, is_short=are_few(bundles))) as spark:
        return take_in(spark, bundles, history, how=how, tell=_progress())


def _progress() -> Callable[[int, int], None]:
    """Return what writes to stderr which bundle of how many was read, once a second at most."""
    began = told = time.monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal told
        now = time.monotonic()
        if not manner().quiet and (now - told >= EVERY_S or done == total):
            told = now
            write_lines(
                sys.stderr, [f"progress [ bundle {done} of {total}, {now - began:.0f} s ]"]
            )

    return tell


def finish(taken: "IngestResult") -> int:
    """Return the exit code of an ingest; if bundles were refused, say so on stderr."""
    if not taken.refused:
        return 0
    listed = taken.refused if manner().verbose else taken.refused[:LISTED]
    told = [f"refused  {printable(one.reason)}" for one in listed]
    more = len(taken.refused) - len(listed)
    if more:
        told.append(f"refused  {count_noun(more, 'more bundle')}; -v lists them")
    refused = (
        f"{count_noun(len(taken.refused), 'bundle')} refused, with the reason in the quarantine"
    )
    write_lines(sys.stderr, [*told, f"wireproof: {refused}; all others are in the history"])
    return 2


def lines(taken: "IngestResult", history: str) -> Iterator[str]:
    """Return the lines that tell the user the result of an ingest."""
    already = f", {taken.already} already there" if taken.already else ""
    took = f"{count_noun(taken.bundles, 'bundle')} added{already}"
    findings = f", {count_noun(taken.findings, 'finding')}" if taken.findings else ""
    yield f"history  {history}   {took}; {count_noun(taken.results, 'result')}{findings}"
    listed = taken.quarantined if manner().verbose else taken.quarantined[:LISTED]
    for bad in listed:
        yield f"quarantined  {bad.file}, line {bad.line}: {printable(bad.reason)}"
    rest = taken.lines - len(listed)
    if rest:
        # Not "-v lists them": the same command finds the bundle in the history now.
        yield f"quarantined  {count_noun(rest, 'more line')} in the view quarantine"
    for name, count in sorted(taken.unused.items()):
        bundles = count_noun(count, "bundle")
        yield f"unused   --{name}, for {bundles} whose target reports a {name} itself"


def _tell(taken: "IngestResult", history: str) -> None:
    if manner().json:
        told = {"event": "ingested", "history": history, **msgspec.to_builtins(taken)}
        write_lines(sys.stdout, [json.dumps(told)])
    elif not manner().quiet:
        write_lines(sys.stdout, lines(taken, history))


def _watch(
    bundles: tuple[str, ...], history: str, how: "How", wanted: "Wanted", *, once: bool
) -> int:
    """Take in what arrives, until interrupted; each batch is told as one ingest."""
    if len(bundles) != 1 or not (is_url(bundles[0]) or Path(bundles[0]).is_dir()):
        raise UsageFault("--watch expects one folder or URL in which bundles arrive")
    from wireproof_reports.pipeline.watch import watch

    refused = 0

    def tell_batch(taken: "IngestResult") -> None:
        nonlocal refused
        _tell(taken, history)
        refused = max(refused, finish(taken))

    with running_spark(wanted) as spark:
        watch(spark, bundles[0], history, how=how, told=tell_batch, once=once)
    return refused
