"""``wireproof migrate``: converts a history of an older version."""

import json
from pathlib import Path

import click

from wireproof.options.global_options import manner
from wireproof.options.lazy_group import Command
from wireproof.options.spark_options import running_spark, spark_options, wanted_spark
from wireproof.view.output import echo
from wireproof_kit.errors import UsageFault
from wireproof_kit.version import KIT_VERSION
from wireproof_reports.pipeline.place import (
    OLD_INDEX,
    OLD_TABLES,
    HistoryFault,
    check_inside,
    check_writable,
    is_old,
)
from wireproof_reports.wording import count_noun

EXAMPLES = (("wireproof migrate old --history history", "turn an old history into a new one"),)


@click.command("migrate", cls=Command, examples=EXAMPLES)
@click.argument("old", type=click.Path(path_type=Path), metavar="OLD")
@click.option(
    "--history", required=True, metavar="DIR|URL", help="Where the new history lies; empty or new."
)
@spark_options
def migrate(old: Path, history: str, master: str, conf: tuple[str, ...]) -> None:
    """Turn a history of six Delta tables, or of Parquet files, into one of this version.

    The old history stays as it is. The new one has its newest state: older states, which --as-of
    opens, are not copied. The number of rows of every kind is compared.
    """
    spark = wanted_spark(master, conf)
    if not is_old(old):
        raise UsageFault(
            f"{old} is no old history: it has neither {OLD_INDEX} nor a Delta table {OLD_TABLES}"
        )
    try:
        check_inside(old)
        check_writable(history)
    except HistoryFault as error:
        raise UsageFault(str(error)) from error
    from wireproof_reports.pipeline.commit import Conflict
    from wireproof_reports.pipeline.migrate import migrate as convert

    try:
        with running_spark(spark) as session:
            counts = convert(session, old, history, kit=KIT_VERSION)
    except Conflict as error:
        raise UsageFault(
            f"{history} was written by another ingest meanwhile; try again"
        ) from error
    if manner().json:
        echo(json.dumps({"event": "migrated", "history": history, "rows": counts}))
    elif not manner().quiet:
        told = ", ".join(f"{name} {rows:,}" for name, rows in counts.items())
        echo(f"history  {history}   {count_noun(counts['runs'], 'bundle')}; rows: {told}")
