"""JUnit XML for CI viewers: red is exactly what counts against the run.

Failures that count are failures. Known deviations, unsupported cases and failures that the run
does not count (a weaker level, another origin) are skipped, with the reason. Undecided cases are
errors. A suite named ``run`` has what concerns the run as a whole: groups that were not judged,
outdated deviations. Viewers add up the times of all cases. Since cases run side by side, the time
of a case is its part of the run's, and a property has how long the case itself took.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from xml.etree import ElementTree as etree

from wireproof_reports.bundle_file import Bundle, read_bundle
from wireproof_reports.exchange.evidence import talk
from wireproof_reports.exchange.failing import DIED
from wireproof_reports.exchange.repeating import repeat_command
from wireproof_reports.render.fingerprint import target_facts
from wireproof_reports.wording import escape_acting
from wireproof_spec.private_file import make_private
from wireproof_spec.record import CaseRecord, HeaderRecord

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(bundle: Path, out: Path) -> None:
    """Write the report of a bundle as one JUnit XML file.

    Raises:
        BundleFault: the bundle cannot be read.
    """
    report = render(bundle)
    make_private(out).write_bytes(report)


def render(bundle: Path) -> bytes:
    """Return the JUnit XML of a bundle: a test suite for each interface, in UTF-8.

    Raises:
        BundleFault: the bundle cannot be read.
    """
    whole = read_bundle(bundle)
    root = etree.Element("testsuites", {"name": whole.header.target.title})
    root.append(_run_suite(whole))
    rate = _rate(whole)
    for name, cases in groupby(sorted(whole.cases, key=_interface), key=_interface):
        root.append(_suite(whole, name, tuple(cases), rate))
    _count(root)
    del root.attrib["skipped"]  # the shape that strict viewers check has it on suites alone
    for element in root.iter():
        element.text = _text(element.text) if element.text else None
        element.attrib.update({name: _text(value) for name, value in element.items()})
    etree.indent(root)
    body: bytes = etree.tostring(root, "utf-8")
    return b'<?xml version="1.0" encoding="utf-8"?>\n' + body + b"\n"


def outcome(case: CaseRecord, header: HeaderRecord) -> str:
    """Return the JUnit outcome of a case: passed, failure, skipped or error."""
    if case.verdict in ("pass", "reading"):
        return "passed"
    if case.verdict == "error":
        return "error"
    if case.verdict in ("known", "unsupported") or not header.counts(case.level, case.origin):
        return "skipped"
    return "failure" if case.verdict == "fail" else "error"


def _rate(bundle: Bundle) -> float:
    """Return the time of the run in parts of the sum of its cases' times; 1 if it is unknown."""
    cases = sum(case.duration_us for case in bundle.cases)
    return bundle.footer.duration_us / cases if cases and bundle.footer.duration_us else 1.0


def _run_suite(bundle: Bundle) -> etree.Element:
    """Return the suite of tests about the run as a whole."""
    suite = etree.Element("testsuite", {"name": "run"})
    suite.append(_properties(_run_facts(bundle)))
    for group in bundle.footer.groups:
        if group.whole:
            why = "" if group.judged else f"not judged: {group.why or 'core clauses undecided'}"
            suite.append(_run_test(f"{group.group} is judged", "error", why))
    for name in bundle.footer.stale:
        suite.append(_run_test(name, "failure", "listed as a known deviation, but it passes now"))
    for name in bundle.footer.expired:
        suite.append(_run_test(name, "failure", "its entry in the deviations file has expired"))
    if bundle.footer.interrupted:
        suite.append(_run_test("the run is whole", "error", "the run was interrupted"))
    _count(suite)
    return suite


def _run_test(name: str, kind: str, why: str) -> etree.Element:
    element = etree.Element("testcase", {"classname": "run", "name": name, "time": "0"})
    if why:
        etree.SubElement(element, kind, {"message": why, "type": "run"})
    return element


def _suite(bundle: Bundle, name: str, cases: Sequence[CaseRecord], rate: float) -> etree.Element:
    suite = etree.Element("testsuite", {"name": name})
    if bundle.header.started:
        suite.set("timestamp", bundle.header.started)
    suite.extend(_case(bundle, case, rate) for case in cases)
    _count(suite)
    return suite


def _count(element: etree.Element) -> None:
    tests = list(element.iter("testcase"))
    element.set("tests", str(len(tests)))
    for attribute, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(attribute, str(sum(1 for _ in element.iter(kind))))
    element.set("time", f"{sum(float(test.get('time', '0')) for test in tests):.6f}")


def _case(bundle: Bundle, case: CaseRecord, rate: float) -> etree.Element:
    interface = _interface(case)
    element = etree.Element(
        "testcase",
        {
            "classname": interface.replace("/", "."),
            "name": case.case.removeprefix(f"{interface}/"),
            "time": f"{case.duration_us * rate / 1e6:.6f}",
        },
    )
    element.append(_properties(_case_facts(case)))
    kind = outcome(case, bundle.header)
    if kind != "passed":
        element.append(_result(bundle, case, kind))
    return element


def _result(bundle: Bundle, case: CaseRecord, kind: str) -> etree.Element:
    message = f"{case.verdict}: {case.reason}"
    if kind == "skipped" and case.verdict not in ("known", "unsupported"):
        kind_of = f"at level {case.level}" + (f" (origin {case.origin})" if case.origin else "")
        scope = f"this run counts up to {bundle.header.scope()}"
        message = f"{case.verdict} {kind_of}, not counted: {scope}: {case.reason}"
    attributes = {"message": message}
    if kind != "skipped":
        attributes["type"] = case.verdict
    element = etree.Element(kind, attributes)
    if kind != "skipped":
        element.text = "\n".join(_story(bundle, case))
    return element


def _story(bundle: Bundle, case: CaseRecord) -> Iterator[str]:
    yield f"{case.clause} ({case.level}): {case.title}"
    yield f"expected  {' | '.join(case.accepted) or '-'}"
    yield f"actual    {case.observation}"
    if case.observation == DIED and case.note:
        yield f"note      {case.note}"
    if case.difference is not None:
        found = case.difference
        yield f"differs   {found.field}: expected {found.expected}, found {found.found}"
    yield talk(case.transcript)
    yield f"repeat    {repeat_command(case, bundle.header, bundle.name)}"


def _case_facts(case: CaseRecord) -> dict[str, str]:
    facts = {
        "clause": case.clause,
        "level": case.level,
        "origin": case.origin,
        "verdict": case.verdict,
        "observation": case.observation,
        "case_hash": case.case_hash,
        "reading": case.reading or "",
        "signature": case.signature or "",
        "duration": f"{case.duration_us / 1e6:.6f}",
    }
    return {name: value for name, value in facts.items() if value}


def _run_facts(bundle: Bundle) -> dict[str, str]:
    header = bundle.header
    return {
        **dict(target_facts(header)),
        "kit": header.kit,
        "seed": str(header.seed),
        "profile": header.profile,
        "origins": ", ".join(header.origins),
        "statement": bundle.footer.statement,
    }


def _properties(facts: dict[str, str]) -> etree.Element:
    element = etree.Element("properties")
    for name, value in facts.items():
        etree.SubElement(element, "property", {"name": name, "value": value})
    return element


def _interface(case: CaseRecord) -> str:
    return "/".join(case.case.split("/")[:2])


def _text(text: str) -> str:
    """Return the text with escapes for what XML does not allow or what acts on a screen."""
    return _NOT_XML.sub(lambda sign: f"\\x{ord(sign[0]):02x}", escape_acting(text))
