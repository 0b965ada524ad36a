"""Finding one case in a bundle."""

from pathlib import Path

from wireproof.options.suggestions import nearest_words
from wireproof_kit.bundle.file import Bundle, read_bundle
from wireproof_kit.errors import UsageFault
from wireproof_reports.causes import fold
from wireproof_reports.exchange.repeating import run_again
from wireproof_spec.record import CaseRecord, WayRecord

OUT = Path("out")
SHORTEST_SIGNATURE = 4


def locate(what: str, bundle: Path | None) -> tuple[Bundle, CaseRecord]:
    """Return the recorded case named by file, case id, signature or hash, and its bundle.

    A signature that several cases have names the one that a report of the bundle shows first. The
    id or signature of a way names the first case that showed it broken.

    Raises:
        UsageFault: there is no bundle, or no such case in it, or nothing was sent.
    """
    path = Path(what)
    if path.is_file():
        found = read_bundle(path)
        if len(found.cases) != 1:
            raise UsageFault(
                f"{what} holds {len(found.cases)} cases; name one: "
                f"wireproof replay ID --bundle {what}"
            )
        case = found.cases[0]
    else:
        found = read_bundle(bundle or newest_bundle())
        case = _find_named(what, found)
    if found.header.target.is_client():
        raise UsageFault(
            f"{case.case}: a client was judged, whose exchange only the client can repeat; run "
            f"`{run_again(case, found.header)}`"
        )
    if found.header.target.is_traffic():
        raise UsageFault(
            f"{case.case}: traffic that passed a proxy is not sent again, since it is not the "
            f"kit's own; `wireproof judge {found.path}` shows it"
        )
    if not any(step.kind in ("send", "request") for step in case.transcript.steps):
        raise UsageFault(f"{case.case}: nothing was sent ({case.reason}); there is no exchange")
    return found, case


def newest_bundle() -> Path:
    """Return the newest bundle in out/.

    Raises:
        UsageFault: there is no bundle.
    """
    found = (path for path in OUT.glob("*.jsonl") if path.is_file())
    bundles = sorted(found, key=lambda path: path.stat().st_mtime)
    if not bundles:
        raise UsageFault("there is no bundle in out/; name one with --bundle FILE")
    return bundles[-1]


def _find_named(what: str, bundle: Bundle) -> CaseRecord:
    for case in bundle.cases:
        if case.case == what:
            return case
    shown_first = [case for cause in fold(bundle.cases, bundle.header) for case in cause.cases]
    for case in [*shown_first, *bundle.cases]:
        if _is_named(case, what) or _begins(case.case_hash, what):
            return case
    for way in bundle.ways:
        if _is_named(way.result, what):
            return _source_of(way, bundle)
    if not bundle.findings and (empty := bundle.why_empty()):
        raise UsageFault(empty)
    raise UsageFault(_no_such(what, bundle))


def _is_named(result: CaseRecord, what: str) -> bool:
    return result.case == what or _begins(result.signature or "", what)


def _begins(signature: str, what: str) -> bool:
    return len(what) >= SHORTEST_SIGNATURE and signature.startswith(what)


def _source_of(way: WayRecord, bundle: Bundle) -> CaseRecord:
    """Return the first recorded case whose exchange broke a clause on a way."""
    name = way.result.case
    if not way.broken:
        raise UsageFault(f"{name}: all {way.kept} messages kept the clause; name a case")
    for case in bundle.cases:
        if case.case in way.cases:
            return case
    raise UsageFault(f"{name}: {bundle.path} holds none of the cases that showed it")


def _no_such(what: str, bundle: Bundle) -> str:
    ids = [way.result.case for way in bundle.ways if way.broken]
    names = [*(case.case for case in bundle.cases), *ids]
    near = nearest_words(what, [*names, *(finding.id for finding in bundle.findings)], count=3)
    hint = f"; nearest: {', '.join(near)}" if near else ""
    kinds = "finding, case or signature" if bundle.findings else "case or signature"
    return f"{bundle.path}: no {kinds} {what!r}{hint}"
