"""One page over the reports of several runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wireproof_reports.render.html import render_with
from wireproof_reports.render.page import read_page
from wireproof_spec.private_file import make_private


@dataclass(frozen=True, slots=True)
class IndexedRun:
    """A run as the index shows it; ``why`` says why there is no bundle, ``html`` is its report."""

    target: str
    exit: int
    bundle: Path
    html: Path | None = None
    why: str = ""


def write(runs: Sequence[IndexedRun], out: Path) -> None:
    """Write the index of runs; the reports are linked by name, beside it.

    Raises:
        BundleFault: a bundle cannot be read.
    """
    rows = [(run, None if run.why else read_page(run.bundle)) for run in runs]
    text = render_with("index.html.jinja", rows=rows)
    make_private(out).write_text(text, encoding="utf-8", newline="\n")
