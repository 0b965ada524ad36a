"""The JUnit file against the shape that CI viewers share: which elements, in which, with what.

The shape is that of the schema by which the strictest of them refuse a file, with one thing
more that pytest writes too and all others read or pass over: properties of a test case.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as etree

import pytest
from bundle_fixture import case, header, write_bundle

from wireproof_reports.render.junit import render


@dataclass(frozen=True)
class Shape:
    required: frozenset[str]
    optional: frozenset[str]
    children: tuple[str, ...]
    """In the order in which they must stand."""

    text: bool = False


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())


RESULT = Shape(names(""), names("message type"), (), text=True)
SHAPES = {
    "testsuites": Shape(names(""), names("name time tests failures errors"), ("testsuite",)),
    "testsuite": Shape(
        names("name tests failures errors"),
        names("time skipped timestamp hostname id package file"),
        ("properties", "testcase", "system-out", "system-err"),
    ),
    "testcase": Shape(
        names("name"),
        names("classname time"),
        ("properties", "skipped", "error", "failure", "system-out", "system-err"),
    ),
    "properties": Shape(names(""), names(""), ("property",)),
    "property": Shape(names("name value"), names(""), ()),
    "failure": RESULT,
    "error": RESULT,
    "skipped": RESULT,
}
SECONDS = re.compile(r"\d+\.\d{6}|0")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)?")


def faults(element: etree.Element) -> Iterator[str]:
    """Say in which way an element and what is in it are not of the shape."""
    shape = SHAPES.get(element.tag)
    if shape is None:
        yield f"<{element.tag}> is no element of it"
        return
    given = set(element.attrib)
    yield from (f"<{element.tag}> lacks {name}" for name in shape.required - given)
    extra = given - shape.required - shape.optional
    yield from (f"<{element.tag}> has {name}" for name in extra)
    if (element.text or "").strip() and not shape.text:
        yield f"<{element.tag}> has text"
    tags = [child.tag for child in element]
    known = [tag for tag in tags if tag in shape.children]
    yield from (f"<{tag}> in <{element.tag}>" for tag in tags if tag not in shape.children)
    if known != sorted(known, key=shape.children.index):
        yield f"<{element.tag}> has its elements in another order"
    if element.tag == "testcase" and len(set(tags) & {"skipped", "error", "failure"}) > 1:
        yield "<testcase> has two results"
    for child in element:
        yield from faults(child)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> etree.Element:
    return etree.fromstring(render(write_bundle(tmp_path_factory.mktemp("b") / "run.jsonl")))


def test_the_file_is_of_the_shape(root: etree.Element) -> None:
    assert root.tag == "testsuites"
    assert list(faults(root)) == []


@pytest.mark.parametrize("verdict", ["pass", "reading", "fail", "known", "unstable", "error"])
def test_every_verdict_is_of_the_shape(tmp_path: Path, verdict: str) -> None:
    record = case("a/b", "ext.publish.accept", "t", "ok", verdict)
    path = write_bundle(tmp_path / "run.jsonl", [record], first=header(started=""))

    assert list(faults(etree.fromstring(render(path)))) == []


def test_the_shape_can_tell_a_fault(root: etree.Element) -> None:
    wrong = etree.fromstring(
        '<testsuites skipped="1"><testsuite name="a" tests="1" failures="0" errors="0">'
        "<testcase><failure/><error/><properties/></testcase>x</testsuite><b/></testsuites>"
    )

    assert set(faults(wrong)) == {
        "<testsuites> has skipped",
        "<testcase> lacks name",
        "<testcase> has two results",
        "<testcase> has its elements in another order",
        "<b> in <testsuites>",
        "<b> is no element of it",
    }


def test_times_are_seconds_and_add_up(root: etree.Element) -> None:
    for element in root.iter():
        if "time" in element.attrib:
            assert SECONDS.fullmatch(element.attrib["time"])
        if "timestamp" in element.attrib:
            assert MOMENT.fullmatch(element.attrib["timestamp"])
    for suite in root:
        whole = sum(float(test.get("time", "0")) for test in suite.iter("testcase"))
        assert float(suite.get("time", "0")) == pytest.approx(whole, abs=0.001)


def test_a_test_is_named_once(root: etree.Element) -> None:
    whole = [(test.get("classname"), test.get("name")) for test in root.iter("testcase")]

    assert len(whole) == len(set(whole))
    assert all(classname and name for classname, name in whole)


def test_a_known_deviation_is_skipped_with_reason_and_date(root: etree.Element) -> None:
    tests = {test.get("name"): test for test in root.iter("testcase")}
    (skipped,) = tests["header-strict/nan"].findall("skipped")

    assert str(skipped.get("message")).startswith("known: known until 2027-03-31: the header")


def test_no_host_is_named(root: etree.Element) -> None:
    assert all("hostname" not in suite.attrib for suite in root)
