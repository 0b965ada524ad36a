"""The job for spark-submit: adds bundles to a history, and answers its questions, on a cluster.

spark-submit --master spark://HOST:7077 --properties-file spark.conf job.py HISTORY --out SITE
spark-submit … job.py HISTORY --ingest LANDING

`shipping` writes the file with the settings, and what they name.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from wireproof_reports.bundle_file import BundleFault
from wireproof_reports.pipeline.ingest import How, ingest
from wireproof_reports.pipeline.jars import SparkFault
from wireproof_reports.pipeline.place import HistoryFault, check_writable
from wireproof_reports.pipeline.session import Wanted, session
from wireproof_reports.pipeline.shipping import VERSION
from wireproof_reports.site.analysis import AnalysisRequest, aggregate
from wireproof_reports.wording import count_noun, escape_unprintable

SUBMITTED = Wanted(master="")
"""Leaves the master to spark-submit."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Ingest bundles and answer all questions with Spark, as a job of its own.

    Return 0, or 2 after one sentence on stderr.
    """
    parser = argparse.ArgumentParser(
        prog="job.py", description="Add bundles to a history, analyse the history, or both."
    )
    parser.add_argument("history", help="folder or URL of the history, readable by every worker")
    parser.add_argument("--ingest", metavar="LANDING", help="folder or URL of the bundles to add")
    parser.add_argument("--out", type=Path, help="folder that the answers are written to")
    given = parser.parse_args(arguments)
    if given.ingest is None and given.out is None:
        parser.error("expected --ingest LANDING, --out SITE, or both; found neither")
    try:
        code = _take(given.history, given.ingest) if given.ingest is not None else 0
        if given.out is not None:
            wish = AnalysisRequest(given.history, given.out, spark=SUBMITTED, kit=VERSION)
            lines = aggregate(wish, warn=lambda sentence: print(sentence, file=sys.stderr))
            print(f"site  {given.out}   {len(lines)} questions answered")
    except (BundleFault, HistoryFault, SparkFault) as error:
        print(f"wireproof: {error}", file=sys.stderr)
        return 2
    return code


def _take(history: str, landing: str) -> int:
    check_writable(history)
    with (
        tempfile.TemporaryDirectory(prefix="wireproof-log-") as scratch,
        session(SUBMITTED, Path(scratch) / "spark.log") as spark,
    ):
        taken = ingest(spark, [landing], history, how=How(kit=VERSION))
    print(f"history  {history}   {taken.bundles} bundles added, {taken.already} already there")
    for line in taken.quarantined:
        refusal = escape_unprintable(f"{line.file}, line {line.line}: {line.reason}")
        print(f"quarantined  {refusal}")
    if rest := taken.lines - len(taken.quarantined):
        print(f"quarantined  {count_noun(rest, 'more line')} in the view quarantine")
    for refused in taken.refused:
        print(f"wireproof: refused: {escape_unprintable(refused.reason)}", file=sys.stderr)
    return 2 if taken.refused else 0


if __name__ == "__main__":
    raise SystemExit(main())
