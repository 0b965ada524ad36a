"""``wireproof ask``: answers the user's own question, in SQL."""

import json
import sys
from collections.abc import Iterator, Sequence

import click

from wireproof.options.global_options import manner
from wireproof.options.lazy_group import Command
from wireproof.options.spark_options import (
    as_of_option,
    running_spark,
    spark_options,
    wanted_spark,
)
from wireproof.view.output import echo, write_lines
from wireproof_kit.decoding.printable import printable
from wireproof_kit.errors import UsageFault
from wireproof_reports.pipeline.place import HistoryFault, check_readable

MOST_ROWS = 1_000
WIDEST = 60

EXAMPLES = (
    (
        'wireproof ask history --sql "select version, count(*) from runs group by all"',
        "count the runs of each version",
    ),
    (
        'wireproof ask history --as-of 2026-11-01 --sql "select count(*) from results"',
        "ask the history as it was at the end of that day",
    ),
)


@click.command("ask", cls=Command, examples=EXAMPLES)
@click.argument("history", metavar="HISTORY")
@click.option("--sql", required=True, metavar="TEXT", help="A query in Spark's SQL.")
@click.option(
    "--limit",
    default=MOST_ROWS,
    show_default=True,
    type=click.IntRange(1),
    metavar="N",
    help="Maximum number of rows to show.",
)
@spark_options
@click.option("--remote", default="", metavar="URL", help="URL of a Spark Connect server.")
@as_of_option
def ask(
    history: str,
    sql: str,
    limit: int,
    master: str,
    conf: tuple[str, ...],
    remote: str,
    as_of: str,
) -> None:
    """Ask a history a question in SQL; nothing is changed.

    The views are results, runs, findings, campaigns, grammar and quarantine, all of one state of
    the history. Only SELECT over these views is answered, with functions that only compute.
    """
    if remote:
        raise UsageFault(
            "--remote: --sql is not answered by a Spark Connect server, since only Spark on this "
            "machine can check a statement before it is run; run `wireproof ask` without --remote"
        )
    spark = wanted_spark(master, conf)
    try:
        check_readable(history)
    except HistoryFault as error:
        raise UsageFault(str(error)) from error
    from wireproof_reports.questions.sql import NotAllowed, ask_sql, name_views
    from wireproof_reports.site.analysis import state_of

    with running_spark(spark) as session:
        name_views(session, history, state_of(session, history, as_of))
        try:
            result = ask_sql(session, sql, limit)
        except NotAllowed as error:
            raise UsageFault(str(error)) from error
    if manner().json:
        event = {"event": "answered", "columns": result.columns, "rows": result.rows}
        echo(json.dumps({**event, "cut": result.is_cut}))
        return
    write_lines(sys.stdout, _lines(result.columns, result.rows))
    if result.is_cut:
        write_lines(sys.stderr, [f"these are the first {limit} rows; a larger --limit shows more"])


def _lines(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    table = [list(columns), *([_text(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()


def _text(value: object) -> str:
    text = "" if value is None else value if isinstance(value, str) else json.dumps(value)
    shown = printable(text)
    return shown if len(shown) <= WIDEST else shown[: WIDEST - 1] + "…"
