"""The job for spark-submit: analyses a history on a cluster.

spark-submit --master spark://HOST:7077 --py-files wireproof.zip job.py HISTORY --out SITE
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from wireproof_reports.pipeline.manifest import HistoryFault
from wireproof_reports.pipeline.session import SparkFault
from wireproof_reports.questions.aggregate import AnalysisRequest, aggregate


def main(arguments: Sequence[str] | None = None) -> int:
    """Analyse a history; return 0, or 2 after printing one sentence."""
    parser = argparse.ArgumentParser(prog="job.py", description="Ask a history all questions.")
    parser.add_argument("history", help="its folder, or a URL that the cluster can read")
    parser.add_argument("--out", type=Path, required=True, help="folder of the site")
    told = parser.parse_args(arguments)
    try:
        lines = aggregate(AnalysisRequest(told.history, told.out, master=""))
    except (HistoryFault, SparkFault) as error:
        print(f"wireproof: {error}", file=sys.stderr)
        return 2
    print(f"site  {told.out}   {len(lines)} questions answered")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
