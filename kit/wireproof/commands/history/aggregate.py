"""``wireproof aggregate``: ask a history all questions, and write the answers for a site."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import click

from wireproof.commands.history.ingest import check_named, finish, take
from wireproof.commands.history.ingest import lines as ingested
from wireproof.options.global_options import manner
from wireproof.options.lazy_group import Command
from wireproof.options.spark_options import (
    as_of_option,
    interruptible,
    say_spark_is_ready,
    say_what_spark_does,
    spark_options,
    wanted_spark,
)
from wireproof.view.output import echo, write_lines
from wireproof_kit.decoding.printable import printable
from wireproof_kit.errors import UsageFault
from wireproof_kit.version import KIT_VERSION
from wireproof_reports.pipeline.place import (
    HistoryFault,
    check_readable,
    check_site,
    is_history,
    is_url,
)
from wireproof_reports.wording import count_noun

if TYPE_CHECKING:
    from wireproof_reports.pipeline.session import Wanted

OWN_HISTORY = "history"
T = TypeVar("T")

EXAMPLES = (
    ("wireproof aggregate history --out site", "analyse a history"),
    (
        "wireproof aggregate runs/ --out site",
        "analyse a folder of bundles; they are ingested first",
    ),
    (
        "wireproof aggregate history --out site --as-of 2026-11-01",
        "analyse the history as it was at the end of that day",
    ),
    (
        "wireproof aggregate history --out site --master spark://host:7077",
        "use a Spark cluster",
    ),
)


@click.command("aggregate", cls=Command, examples=EXAMPLES)
@click.argument("source", metavar="HISTORY|FOLDER")
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    metavar="SITE",
    help="Folder for the pages.",
)
@spark_options
@click.option("--remote", default="", metavar="URL", help="URL of a Spark Connect server.")
@as_of_option
def aggregate(
    source: str, out: Path, master: str, conf: tuple[str, ...], remote: str, as_of: str
) -> int:
    """Analyse the history with Spark and write the results as a static site.

    The figures are written as JSON files to SITE/data. A folder of bundles is ingested into
    SITE/history first. The output of Spark is in SITE/spark.log.
    """
    spark = wanted_spark(master, conf, remote)
    _check(check_site, out)
    history, code = _history(source, out, spark)
    answered = _answer_questions(history, out, spark, as_of)
    _write_pages(out)
    if manner().json:
        echo(json.dumps({"event": "aggregated", "site": str(out), "questions": answered}))
    elif not manner().quiet:
        echo("\n".join(_lines(out, answered)))
    return code


def _history(source: str, out: Path, wanted: "Wanted") -> tuple[str, int]:
    """Return the history and the exit code; a folder of bundles gets a history in the site."""
    folder = Path(source)
    if is_url(source) or is_history(folder):
        _check(check_readable, source)
        return source, 0
    if not folder.is_dir():
        raise UsageFault(f"{source} is neither a history nor a folder of bundles")
    if wanted.remote:
        raise UsageFault(
            f"{source} is a folder of bundles, and --remote needs a history; make one with "
            f"`wireproof ingest {source} --history DIR`"
        )
    from wireproof_reports.pipeline.ingest import How

    own = str(out / OWN_HISTORY)
    check_named((source,), own)
    taken = take((source,), own, How(kit=KIT_VERSION), wanted)
    if not manner().quiet:
        write_lines(sys.stderr, ingested(taken, own))
    return own, finish(taken)


def _check(check: Callable[[T], None], place: T) -> None:
    try:
        check(place)
    except HistoryFault as error:
        raise UsageFault(str(error)) from error


def _answer_questions(
    history: str, out: Path, wanted: "Wanted", as_of: str
) -> list[dict[str, object]]:
    from wireproof_reports.pipeline.jars import SparkFault
    from wireproof_reports.site.analysis import AnalysisRequest
    from wireproof_reports.site.analysis import aggregate as ask
    from wireproof_reports.site.answers import QUESTIONS

    started = time.monotonic()

    def tell(done: int, name: str) -> None:
        if not manner().quiet:
            spent = time.monotonic() - started
            step = f"question {done + 1} of {len(QUESTIONS)}: {name}, {spent:.0f} s"
            write_lines(sys.stderr, [f"progress [ {step} ]"])

    def warn(sentence: str) -> None:
        write_lines(sys.stderr, [f"wireproof: {printable(sentence)}"])

    wish = AnalysisRequest(history, out, spark=wanted, as_of=as_of, kit=KIT_VERSION)
    try:
        with interruptible():
            say_what_spark_does(wanted)
            return ask(wish, tell, warn, say_spark_is_ready)
    except (HistoryFault, SparkFault) as error:
        raise UsageFault(str(error)) from error


def _write_pages(out: Path) -> None:
    """Write the site's pages beside its data.

    Raises:
        UsageFault: the data do not suffice, or the pages cannot be written.
    """
    from wireproof_reports.site import SiteFault, write

    try:
        write(out)
    except SiteFault as error:
        raise UsageFault(str(error)) from error
    except OSError as error:
        raise UsageFault(f"--out {out}: cannot be written ({error.strerror})") from error


def _lines(out: Path, answered: list[dict[str, object]]) -> Iterator[str]:
    for line in answered:
        total, shown = cast(int, line["total"]), cast(int, line["rows"])
        cut = f", the first {shown:,} shown" if shown < total else ""
        yield f"{line['question']:<18} {count_noun(total, 'row')}{cut}"
    yield f"site  {out}"
