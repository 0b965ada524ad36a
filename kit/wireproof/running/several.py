"""Several targets in one command: their names in files, what they cannot share, their index."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wireproof.options.config import Settings
from wireproof.options.target_choice import NamedTarget, Pairs, named_target
from wireproof.running.request import RunParameters
from wireproof.view.style import wrap_after_heading
from wireproof_kit.errors import UsageFault
from wireproof_kit.protocols import read_target, target_keys
from wireproof_kit.targets.target import is_url, option_of
from wireproof_reports.wording import count_noun

if TYPE_CHECKING:
    from wireproof_reports.render.index import IndexedRun

LONGEST = 60
"""How many characters of a target's URL stand in the names of its files."""
_SHARED = ("flag", "file", "text", "choice")
"""Forms of target keys that may be the same for several targets: TLS, secrets, the generation."""


def name_targets(
    arguments: Sequence[str], options: RunParameters, settings: Settings, given: Pairs
) -> list[NamedTarget]:
    """Return the targets of a command line with several URLs; nothing if it has one or none.

    Raises:
        UsageFault: a URL is invalid or given twice, or an option fits one target only.
    """
    urls = [argument for argument in arguments if is_url(argument)]
    if len(urls) < 2:
        return []
    if twice := [url for url, count in Counter(urls).items() if count > 1]:
        raise UsageFault(f"{twice[0]} is given twice")
    ids = [argument for argument in arguments if not is_url(argument)]
    protocols = {read_target(url).protocol for url in urls}
    if len(protocols) > 1 and ids:
        told = ", ".join(sorted(protocols))
        raise UsageFault(f"{ids[0]}: with ids, expected targets of one protocol; found {told}")
    _refuse_unshared(options, given)
    return [named_target([url, *ids], settings, given=given) for url in urls]


def _refuse_unshared(options: RunParameters, given: Pairs) -> None:
    """Refuse what names something of one target, or reads or writes one file of all runs."""
    keys = [key for key, _ in given if target_keys()[key].form not in _SHARED]
    if keys:
        form = f"URL?{keys[0]}=VALUE"
        raise UsageFault(
            f"{option_of(keys[0])} belongs to one target, found several; write {form} instead"
        )
    asked: dict[str, object] = {
        "--reference": options["reference"],
        "--topic": options["topic"],
        "--pid": options["pid"],
        "--restart": options["restart"],
        "--lf": options["last_failed"],
        "--dry-run": options["dry_run"],
    }
    for name, value in asked.items():
        if value:
            raise UsageFault(f"{name} cannot be used with several targets; run each by itself")


def add_labels(targets: Sequence[NamedTarget]) -> Iterator[tuple[str, NamedTarget]]:
    """Yield each target with what is added to the names of its files: its address."""
    seen: Counter[str] = Counter()
    for named in targets:
        place = named.url.partition(":")[2].partition("?")[0]
        label = re.sub(r"[^A-Za-z0-9.]+", "-", place).strip("-.")[:LONGEST]
        seen[label] += 1
        yield f"-{label}" + (f"-{seen[label]}" if seen[label] > 1 else ""), named


def conclude_several(
    runs: "Sequence[IndexedRun]", worst: int, index: Path | None
) -> Iterator[str]:
    """Yield the lines on the targets of one command; ``worst`` is its exit code."""
    yield ""
    for run in runs:
        told = f"{run.target}: exit {run.exit}, {run.why or run.bundle}"
        yield from wrap_after_heading("target", told)
    if index is not None:
        yield f"index    {index}"
    yield f"{count_noun(len(runs), 'target')}: the worst exit code stands for all   exit {worst}"
