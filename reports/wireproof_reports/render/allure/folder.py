"""A folder of Allure results rendered from a bundle."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from wireproof_reports.bundle_file import Bundle, read_bundle
from wireproof_reports.render.allure.case_result import (
    PAGE,
    PREFIX,
    Run,
    render_case,
    wants_capture,
)
from wireproof_reports.render.allure.categories import categories_file
from wireproof_reports.render.fingerprint import target_facts
from wireproof_reports.render.html import render
from wireproof_reports.wording import escape_members
from wireproof_spec.private_file import make_own
from wireproof_spec.record import CaseRecord, HeaderRecord

Captures = Callable[[HeaderRecord, CaseRecord], bytes | None]
"""Makes the pcap file of a case; None where it cannot be made."""


def no_captures(_header: HeaderRecord, _case: CaseRecord) -> None:
    """Return no pcap file for a case; used where captures cannot be made."""


def write(bundle: Path, out: Path, captures: Captures = no_captures) -> None:
    """Write a bundle as a folder of Allure results; files of other tools stay.

    Results of an earlier bundle are removed, because Allure would show them as retries.

    Raises:
        BundleFault: the bundle cannot be read.
        OSError: the folder cannot be written.
    """
    whole = read_bundle(bundle)
    page = render(bundle)
    catalogue = whole.catalogue()
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob(f"{PREFIX}*-*"):
        old.unlink()
    run = Run(whole.header, catalogue, whole.name, whole.footer.sha256)
    start = began(whole.header)
    for case in whole.cases:
        capture = captures(whole.header, case) if wants_capture(case) else None
        done = render_case(case, run, start=start, capture=capture)
        for name, data in done.files.items():
            make_own(out / name).write_bytes(data)
        name = f"{PREFIX}{done.result.uuid}-result.json"
        shown = escape_members(msgspec.to_builtins(done.result))
        make_own(out / name).write_bytes(msgspec.json.encode(shown))
        start = done.result.stop
    write_frame(out, whole.header, whole)
    make_own(out / PAGE).write_text(page, encoding="utf-8", newline="\n")


def write_frame(out: Path, header: HeaderRecord, whole: Bundle | None = None) -> None:
    """Write the files of an Allure folder that concern the whole run: categories, environment."""
    make_own(out / "categories.json").write_bytes(categories_file())
    facts = "".join(f"{_key(name)}={_value(value)}\n" for name, value in _facts(header, whole))
    make_own(out / "environment.properties").write_text(facts, encoding="ascii")


def began(header: HeaderRecord) -> int:
    """Return when the run began, in ms since 1970; 0 if the header does not say."""
    try:
        at = datetime.fromisoformat(header.started)
    except ValueError:
        return 0
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)


def _facts(header: HeaderRecord, whole: Bundle | None) -> Iterator[tuple[str, str]]:
    yield from target_facts(header)
    for name, claim in header.claims.items():
        yield f"claim.{name}", claim.state
    for name, binding in header.readings.items():
        yield f"reading.{name}", binding.reading or "none shown"
    yield "kit", header.kit
    for name, revision in header.spec.items():
        yield f"spec.{name}", f"r{revision}"
    yield "profile", header.profile
    yield "origins", ", ".join(header.origins)
    yield "readings", header.reading
    yield "seed", str(header.seed)
    if whole is not None:
        yield "statement", whole.footer.statement


def _key(name: str) -> str:
    return re.sub(r"[^\w.-]", "_", name, flags=re.ASCII)


def _value(text: str) -> str:
    """Return a value escaped for a Java properties file: one line of ASCII."""
    escaped = text.replace("\\", "\\\\").replace("\r", "\\r").replace("\n", "\\n")
    utf16 = (escaped.encode("utf-16-be", "surrogatepass")[i : i + 2] for i in _pairs(escaped))
    return "".join(chr(pair[1]) if _is_plain(pair) else f"\\u{pair.hex()}" for pair in utf16)


def _pairs(text: str) -> range:
    return range(0, len(text.encode("utf-16-be", "surrogatepass")), 2)


def _is_plain(pair: bytes) -> bool:
    return pair[0] == 0 and 32 <= pair[1] < 127
