"""``wireproof aggregate``: ask a history all questions, and write the answers for a site."""

import json
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import click

from wireproof.commands.ingest import lines as ingested
from wireproof.commands.ingest import refuse_without, take
from wireproof.options.global_options import manner
from wireproof.options.lazy_group import Command
from wireproof.view.output import echo, write_lines
from wireproof_kit.errors import UsageFault
from wireproof_kit.version import KIT_VERSION
from wireproof_reports.wording import count_noun

MANIFEST = "history.json"
OWN_HISTORY = "history"
REACH_S = 5.0
LOCAL = "local[*]"

EXAMPLES = (
    ("wireproof aggregate history --out site", "analyse a history"),
    (
        "wireproof aggregate runs/ --out site",
        "analyse a folder of bundles; they are ingested first",
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
@click.option(
    "--master", default=LOCAL, show_default=True, metavar="URL", help="URL of the Spark master."
)
@click.option("--conf", multiple=True, metavar="NAME=VALUE", help="A Spark setting; repeatable.")
def aggregate(source: str, out: Path, master: str, conf: tuple[str, ...]) -> None:
    """Analyse the history with Spark and write the results as a static site.

    The figures are written as JSON files to SITE/data. A folder of bundles is ingested into
    SITE/history first. The output of Spark is in SITE/spark.log.
    """
    refuse_without("pyspark", "pyarrow")
    settings = dict(_settings(conf))
    _reach(master)
    history = _history(source, out)
    answered = _answer_questions(history, out, master, settings)
    _write_pages(out)
    if manner().json:
        echo(json.dumps({"event": "aggregated", "site": str(out), "questions": answered}))
    elif not manner().quiet:
        echo("\n".join(_lines(out, answered)))


def _settings(conf: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for setting in conf:
        name, equals, value = setting.partition("=")
        if not equals or not name.startswith("spark."):
            raise UsageFault(f"--conf {setting}: expected spark.NAME=VALUE")
        yield name, value


def _reach(master: str) -> None:
    """Raise an error if a standalone master cannot be reached: Spark would try for a minute.

    Raises:
        UsageFault: none of its addresses accepts a connection, or the URL is none of Spark's.
    """
    kind, _, rest = master.partition("://")
    if kind != "spark":
        _refuse_unknown(master)
        return
    why = ""
    for address in rest.split(","):
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit() or not 0 < int(port) < 1 << 16:
            raise UsageFault(f"--master {master}: expected spark://HOST:PORT, found {address!r}")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=REACH_S).close()
        except OSError as error:
            why = error.strerror or str(error)
        else:
            return
    told = f"--master {master} cannot be reached ({why.lower()})"
    raise UsageFault(f"{told}; is the master running?")


def _refuse_unknown(master: str) -> None:
    known = master in ("local", "yarn") or master.startswith(("local[", "k8s://"))
    if not known:
        raise UsageFault(
            f"--master {master}: expected local[N], spark://HOST:PORT, yarn or k8s://URL"
        )


def _history(source: str, out: Path) -> str:
    """Return the history; that of a folder of bundles is made in the site's folder."""
    folder = Path(source)
    if "://" in source or (folder / MANIFEST).exists():
        return source
    if not folder.is_dir():
        raise UsageFault(f"{source} is neither a history nor a folder of bundles")
    taken = take((folder,), out / OWN_HISTORY)
    if not manner().quiet:
        write_lines(sys.stderr, ingested(taken, out / OWN_HISTORY))
    return str(out / OWN_HISTORY)


def _answer_questions(
    history: str, out: Path, master: str, settings: dict[str, str]
) -> list[dict[str, object]]:
    from wireproof_reports.pipeline.manifest import HistoryFault
    from wireproof_reports.pipeline.session import SparkFault
    from wireproof_reports.questions.aggregate import AnalysisRequest
    from wireproof_reports.questions.aggregate import aggregate as ask
    from wireproof_reports.questions.answers import QUESTIONS

    started = time.monotonic()

    def tell(done: int, name: str) -> None:
        if not manner().quiet:
            spent = time.monotonic() - started
            step = f"{done + 1}/{len(QUESTIONS)} {name}, {spent:.0f} s"
            write_lines(sys.stderr, [f"progress [ {step} ]"])

    wish = AnalysisRequest(history, out, master=master, kit=KIT_VERSION, settings=settings)
    if not manner().quiet:
        write_lines(sys.stderr, [f"progress [ starting Spark on {master} ]"])
    try:
        return ask(wish, tell)
    except (HistoryFault, SparkFault) as error:
        raise UsageFault(str(error)) from error


def _write_pages(out: Path) -> None:
    """Write the site's pages beside its data.

    Raises:
        UsageFault: they cannot be made of what is there, or not be written.
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
