"""A badge with the number of conforming must cases, as SVG and as JSON."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from wireproof_reports.bundle_file import Bundle, read_bundle
from wireproof_reports.wording import escape_acting
from wireproof_spec.clauses.origin import by_origin
from wireproof_spec.record import CaseRecord, GroupRecord

HEIGHT = 20
CHARACTER = 6.6
PADDING = 7

_COLOURS = {"good": "#17663a", "bad": "#b02419", "open": "#6b5a00"}


@dataclass(frozen=True, slots=True)
class Badge:
    """The texts of a badge for a README; ``tone``, its colour, is good, bad or open."""

    label: str
    message: str
    tone: str


def write(bundle: Path, out: Path) -> None:
    """Write a bundle's badge as SVG and as JSON, in one folder; ``out`` names either file.

    Raises:
        BundleFault: the bundle cannot be read.
    """
    badge = badge_of(read_bundle(bundle))
    svg = out.with_suffix(".svg") if out.suffix == ".json" else out
    svg.write_text(_svg(badge), encoding="utf-8", newline="\n")
    out.with_suffix(".json").write_text(_json(badge), encoding="utf-8", newline="\n")


def render(bundle: Path) -> str:
    """Return the SVG of a bundle's badge.

    Raises:
        BundleFault: the bundle cannot be read.
    """
    return _svg(badge_of(read_bundle(bundle)))


def badge_of(bundle: Bundle) -> Badge:
    """Return the texts of a bundle's badge; they never claim more than was judged."""
    groups = bundle.footer.groups
    label = escape_acting(f"wireproof {', '.join(bundle.header.spec)}")
    judged = [group for group in groups if group.judged]
    counts = [group.counts.get("must", (0, 0)) for group in judged]
    good, asserted = sum(count[0] for count in counts), sum(count[1] for count in counts)
    waiting = [g.group for g in groups if not g.judged]
    if not asserted:
        failed = sum(case.verdict == "fail" and _counts(bundle, case) for case in bundle.cases)
        message = f"{failed} must failed, no group judged" if failed else "not judged"
        return Badge(label, message, "bad" if failed else "open")
    origins = by_origin(_origins(judged), bundle.header.origins)
    message = f"{good}/{asserted} must" + (f" ({origins})" if origins else "")
    if waiting:
        message += f", {', '.join(waiting)} not judged"
    tone = "bad" if good < asserted else "open" if waiting or bundle.footer.exit else "good"
    return Badge(label, escape_acting(message), tone)


def _counts(bundle: Bundle, case: CaseRecord) -> bool:
    return case.level == "must" and bundle.header.counts(case.level, case.origin)


def _origins(groups: Sequence[GroupRecord]) -> dict[str, tuple[int, int]]:
    """Sum up the must cases of all groups by origin."""
    conforming, asserted = Counter[str](), Counter[str]()
    for group in groups:
        for origin, (good, all_of_it) in group.origins.items():
            conforming[origin] += good
            asserted[origin] += all_of_it
    return {origin: (conforming[origin], asserted[origin]) for origin in asserted}


def _json(badge: Badge) -> str:
    content = {
        "schemaVersion": 1,
        "label": badge.label,
        "message": badge.message,
        "color": _COLOURS[badge.tone],
    }
    return json.dumps(content, ensure_ascii=False) + "\n"


def _svg(badge: Badge) -> str:
    left, right = _width(badge.label), _width(badge.message)
    label, message = escape(badge.label), escape(badge.message)
    spoken = escape(f"{badge.label}: {badge.message}", {'"': "&quot;"})
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{HEIGHT}" '
        f'role="img" aria-label="{spoken}">'
        f"<title>{label}: {message}</title>"
        f'<clipPath id="r"><rect width="{left + right}" height="{HEIGHT}" rx="3"/></clipPath>'
        f'<g clip-path="url(#r)"><rect width="{left}" height="{HEIGHT}" fill="#3a424b"/>'
        f'<rect x="{left}" width="{right}" height="{HEIGHT}" fill="{_COLOURS[badge.tone]}"/></g>'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" '
        f'font-size="11"><text x="{left / 2:g}" y="14">{label}</text>'
        f'<text x="{left + right / 2:g}" y="14">{message}</text></g></svg>\n'
    )


def _width(text: str) -> int:
    return round(len(text) * CHARACTER) + 2 * PADDING
