"""The first lines of a run: the target, its capabilities and the readings used."""

from collections.abc import Iterator
from pathlib import Path

from wireproof.view.style import flow_pieces, wrap_after_heading
from wireproof_kit.decoding.printable import printable
from wireproof_kit.runner.run import LF
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.record import ClaimRecord, HeaderRecord

MEANING = {LF: "cases that failed last time, or in which a message broke a clause"}
"""What an option selects, where its name does not say it."""
CLAIM_WORDS = {"shown": "yes", "absent": "no", "broken": "claimed, BROKEN", "unknown": "unclear"}


def banner(header: HeaderRecord, *, bundle: Path | None) -> Iterator[str]:
    """Return the first lines of a run's output: versions, target, claims, readings."""
    catalogue = load_catalogue(header.target.protocol)
    own = header.target.narrow(catalogue)
    known = len(list(own.clauses()))
    revisions = ", ".join(f"{name} r{revision}" for name, revision in header.spec.items())
    pinned = f", {header.pinned()}" if header.spec_rev else ""
    first = [f"spec {revisions} ({known} clauses{pinned})", f"seed {header.seed}"]
    if bundle is not None:
        first.append(f"bundle {bundle}")
    yield from flow_pieces(f"wireproof {header.kit}", first)
    yield from flow_pieces("target", _target(header))
    yield from flow_pieces(
        "claims", [_claim(name, claim) for name, claim in header.claims.items()]
    )
    if header.narrowed:
        options = ", ".join(map(_option, header.narrowed))
        yield from wrap_after_heading("", f"narrowed by: {options}")
    for why, groups in header.list_left_out().items():
        yield from wrap_after_heading("", f"not selected: {', '.join(groups)} ({why})")


def _option(option: str) -> str:
    return f"{option} ({MEANING[option]})" if option in MEANING else option


def _target(header: HeaderRecord) -> Iterator[str]:
    yield printable(header.target.title)
    told = header.target.fingerprint
    words = [told.get("name", ""), told.get("version", "")]
    if any(words):
        yield printable(" ".join(word for word in words if word))
    if number := told.get("protocol"):
        shapes = f" ({told['shapes']})" if "shapes" in told else ""
        yield printable(f"protocol {number}{shapes}")
    if waits := header.waits():
        yield f"patience: {waits}"
    yield f"{header.scope()}, readings {header.reading}"


def _claim(name: str, claim: ClaimRecord) -> str:
    said = CLAIM_WORDS[claim.state]
    return f"{name} {said}" + (" (claimed)" if claim.claimed and claim.state == "shown" else "")
