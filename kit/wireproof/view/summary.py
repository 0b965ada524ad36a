"""The output at the end of a run, or after a bundle was judged again."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from wireproof.view.closing import conclusion, remarks, verdict
from wireproof.view.failure import FailureContext, failures
from wireproof.view.style import Style
from wireproof_reports.causes import Cause, fold
from wireproof_spec.record import CaseRecord, FooterRecord, HeaderRecord


@dataclass(frozen=True, slots=True)
class Result:
    """A completed run: its records, conclusion, and the files that were written."""

    header: HeaderRecord
    records: Sequence[CaseRecord]
    footer: FooterRecord
    bundle: Path | None = None
    files: Mapping[str, Path] = field(default_factory=dict[str, Path])

    def causes(self) -> tuple[Cause, ...]:
        """Return the failures folded by root cause."""
        return fold(self.records)


def summary(result: Result, *, verbose: int, quiet: bool, style: Style) -> Iterator[str]:
    """Return the lines after the cases; the last one contains the exit code."""
    causes = result.causes()
    if not quiet:
        yield ""
        scene = FailureContext(result.header, result.bundle, verbose, style)
        yield from failures(causes, scene)
        noted = list(remarks(result.header, result.records))
        yield from [*noted, ""] if noted else []
        yield from conclusion(result.header, result.footer)
        for name, path in result.files.items():
            yield f"{name:<9}{path}"
    yield verdict(result.header, result.footer, causes, style=style)
