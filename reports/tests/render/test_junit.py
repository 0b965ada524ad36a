from pathlib import Path
from xml.etree import ElementTree as etree

import msgspec
import pytest
from bundle_fixture import case, failed, failures, header, write_bundle

from wireproof_reports.bundle_file import BundleFault
from wireproof_reports.render.junit import outcome, render, write
from wireproof_spec.record import TargetRecord


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bundle(tmp_path_factory.mktemp("bundle") / "run.jsonl")


def result(root: etree.Element, name: str) -> etree.Element | None:
    test = next(test for test in root.iter("testcase") if test.get("name") == name)
    found = [child for child in test if child.tag != "properties"]
    return found[0] if found else None


def test_counts_agree_with_the_tests(bundle: Path) -> None:
    root = etree.fromstring(render(bundle))

    for element in (root, *root.iter("testsuite")):
        assert element.get("tests") == str(len(list(element.iter("testcase"))))
        for attribute, tag in (
            ("failures", "failure"),
            ("errors", "error"),
            ("skipped", "skipped"),
        ):
            if (element.tag, tag) != ("testsuites", "skipped"):
                assert element.get(attribute) == str(len(list(element.iter(tag))))
    assert root.get("failures") == "9"
    assert sum(int(suite.get("skipped", "0")) for suite in root) == 6
    assert root.get("errors") == "4"


def test_the_times_of_cases_that_ran_side_by_side_add_up_to_the_time_of_the_run(
    tmp_path: Path,
) -> None:
    seconds = [1, 2, 5]
    cases = [
        msgspec.structs.replace(
            case(f"nsq/publish/{number}", "ext.publish.accept", "t", "ok"),
            duration_us=number * 1_000_000,
        )
        for number in seconds
    ]
    path = write_bundle(tmp_path / "run.jsonl", cases, duration_us=4_000_000)

    root = etree.fromstring(render(path))

    assert root.get("time") == "4.000000"
    tests = [test for test in root.iter("testcase") if test.get("classname") != "run"]
    assert [test.get("time") for test in tests] == ["0.500000", "1.000000", "2.500000"]
    own = [test.find("properties/property[@name='duration']") for test in tests]
    assert [each.get("value") for each in own if each is not None] == [
        f"{number}.000000" for number in seconds
    ]
    suites = [float(suite.get("time", "")) for suite in root.iter("testsuite")]
    assert sum(suites) == 4.0


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        ("pass", "passed"),
        ("reading", "passed"),
        ("fail", "failure"),
        ("known", "skipped"),
        ("unsupported", "skipped"),
        ("inconclusive", "error"),
        ("unstable", "error"),
        ("error", "error"),
    ],
)
def test_outcomes(verdict: str, expected: str) -> None:
    assert outcome(case("a/b", "ext.publish.accept", "t", "ok", verdict), header()) == expected


def test_what_is_weaker_than_the_profile_is_skipped_with_the_reason(tmp_path: Path) -> None:
    weak = failed("publish/x", "ext.publish.header-name", "t", "ok,open", ["error:*,open"])
    path = write_bundle(tmp_path / "run.jsonl", [weak], first=header(profile="must"))
    skipped = result(etree.fromstring(render(path)), "x")

    assert skipped is not None
    assert skipped.tag == "skipped"
    assert "at level should (origin text), not counted: this run counts up to level must" in str(
        skipped.get("message")
    )


def test_a_must_whose_origin_does_not_count_is_skipped(tmp_path: Path) -> None:
    must = failed("publish/x", "ext.publish.accept", "t", "ok,open", ["error:*,open"])
    path = write_bundle(tmp_path / "run.jsonl", [must], first=header(origins=("base",)))
    tree = etree.fromstring(render(path))
    skipped = result(tree, "x")

    assert skipped is not None
    assert skipped.tag == "skipped"
    assert "must (origin text), not counted" in str(skipped.get("message"))
    told = {(p.get("name"), p.get("value")) for p in tree.iter("property")}
    assert {("origin", "text"), ("origins", "base")} <= told


def test_a_failure_tells_its_story(bundle: Path) -> None:
    failure = result(etree.fromstring(render(bundle)), "header-name/space")

    assert failure is not None
    text = str(failure.text)
    assert "expected  error:*,open | error:*,closed" in text
    assert "actual    ok,open" in text
    assert "7b 22 61 20 62" not in text.splitlines()[0]
    assert "repeat    wireproof replay nsq/publish/header-name/space --bundle run.jsonl" in text


def test_clause_and_level_are_properties(bundle: Path) -> None:
    root = etree.fromstring(render(bundle))
    test = next(t for t in root.iter("testcase") if t.get("name") == "header-name/space")
    properties = {p.get("name"): p.get("value") for p in test.iter("property")}

    assert test.get("classname") == "nsq.publish"
    assert properties["clause"] == "ext.publish.header-name"
    assert properties["level"] == "should"
    assert properties["verdict"] == "fail"


def test_what_a_target_says_of_itself_takes_no_name_of_ours(tmp_path: Path) -> None:
    said = {"version": "4.2", "kit": "another", "target": "elsewhere", "seed": "8"}
    first = header(target=TargetRecord("nsq://127.0.0.1:4150", "nsq", said))
    root = etree.fromstring(render(write_bundle(tmp_path / "run.jsonl", first=first)))
    suite = next(suite for suite in root if suite.get("name") == "run")
    facts = {p.get("name"): p.get("value") for p in suite.iter("property")}

    assert facts["target"] == "nsq://127.0.0.1:4150"
    assert facts["kit"] == first.kit
    assert {f"target.{name}": value for name, value in said.items()}.items() <= facts.items()


def test_no_word_of_the_machine_that_a_target_runs_on(tmp_path: Path) -> None:
    said = {"hostname": "box-17", "broadcast_address": "box-17", "version": "4.2"}
    first = header(target=TargetRecord("nsq://127.0.0.1:4150", "nsq", said))

    assert b"box-17" not in render(write_bundle(tmp_path / "run.jsonl", first=first))


def test_a_group_that_was_not_judged_is_an_error(bundle: Path) -> None:
    error = result(etree.fromstring(render(bundle)), "ext.upgrade is judged")

    assert error is not None
    assert error.tag == "error"
    assert "core clauses not asserted" in str(error.get("message"))


def test_characters_that_xml_forbids(tmp_path: Path) -> None:
    strange = msgspec.structs.replace(
        next(failures()), title="\0\x1b[31m]]><x>&", reason="\ufffe\ud7ff", case="a/b/\x01"
    )
    root = etree.fromstring(render(write_bundle(tmp_path / "run.jsonl", [strange])))
    failure = result(root, "\\x01")

    assert failure is not None
    assert "\\x00\\x1b[31m]]><x>&" in str(failure.text)


def test_write(bundle: Path, tmp_path: Path) -> None:
    write(bundle, tmp_path / "junit.xml")

    assert (tmp_path / "junit.xml").read_bytes() == render(bundle)


def test_a_fault_is_told(tmp_path: Path) -> None:
    with pytest.raises(BundleFault):
        render(tmp_path / "none.jsonl")
