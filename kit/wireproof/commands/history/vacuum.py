"""``wireproof vacuum``: merges a history's files, and removes files that no state needs."""

import json
from pathlib import Path

import click
import msgspec

from wireproof.options.global_options import manner
from wireproof.options.lazy_group import Command
from wireproof.options.spark_options import running_spark, spark_options, wanted_spark
from wireproof.view.output import echo
from wireproof_kit.errors import UsageFault
from wireproof_reports.pipeline.place import (
    KEEP_DAYS,
    MOST_KEEP_DAYS,
    HistoryFault,
    check_own,
    check_readable,
    is_url,
)
from wireproof_reports.wording import count_noun

EXAMPLES = (
    ("wireproof vacuum history", "merge small files; keep the states of the last 30 days"),
    ("wireproof vacuum history --keep 365", "keep the states of a year"),
)


@click.command("vacuum", cls=Command, examples=EXAMPLES)
@click.argument("history", metavar="HISTORY")
@click.option(
    "--keep",
    default=KEEP_DAYS,
    show_default=True,
    type=click.IntRange(0, MOST_KEEP_DAYS),
    metavar="DAYS",
    help="Keep all files that are needed to open any state of the last DAYS days.",
)
@spark_options
def vacuum(history: str, keep: int, master: str, conf: tuple[str, ...]) -> None:
    """Merge the small files of a history, and remove files that are needed no more.

    No row is removed, and no file that is not of the history. A state older than DAYS days can no
    longer be opened with --as-of if its files were merged after it; the command lists the versions
    that it made unreachable.
    """
    spark = wanted_spark(master, conf)
    try:
        check_readable(history)
        if not is_url(history):
            check_own(Path(history))
    except HistoryFault as error:
        raise UsageFault(str(error)) from error
    from wireproof_reports.pipeline.commit import Conflict
    from wireproof_reports.pipeline.vacuum import vacuum as clean

    try:
        with running_spark(spark) as session:
            done = clean(session, history, keep_days=keep)
    except Conflict as error:
        raise UsageFault(
            f"{history} was written by another ingest meanwhile; try again"
        ) from error
    if manner().json:
        echo(json.dumps({"event": "vacuumed", **msgspec.to_builtins(done)}))
    elif not manner().quiet:
        echo(
            f"history  {history}   version {done.newest}; "
            f"the oldest version that can be opened is {done.oldest}"
        )
        if done.lost:
            echo(f"unreachable  {count_noun(len(done.lost), 'version')} from now on:")
        for version, when in done.lost:
            echo(f"  {version}  {when}")
