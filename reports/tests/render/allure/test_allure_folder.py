import getpass
import json
import re
import socket
from collections import Counter
from pathlib import Path
from typing import cast

import pytest
from bundle_fixture import case, failed, header, write_bundle

from wireproof_reports.bundle_file import BundleFault
from wireproof_reports.render.allure.case_result import PAGE, PREFIX
from wireproof_reports.render.allure.categories import CATEGORIES
from wireproof_reports.render.allure.folder import write
from wireproof_spec.record import CaseRecord, HeaderRecord, TargetRecord

Json = dict[str, object]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("allure")
    write(write_bundle(place / "run-0142.jsonl"), place / "results", lambda _h, _c: b"pcap")
    return place / "results"


def results(folder: Path) -> dict[str, Json]:
    """All results of a folder by case."""
    found = [json.loads(path.read_text("utf-8")) for path in folder.glob("*-result.json")]
    return {cast(str, result["fullName"]): result for result in found}


def labels(result: Json) -> dict[str, str]:
    return {item["name"]: item["value"] for item in cast(list[dict[str, str]], result["labels"])}


def one(tmp_path: Path, record: CaseRecord, first: HeaderRecord | None = None) -> Json:
    write(write_bundle(tmp_path / "one.jsonl", [record], first=first), tmp_path / "one")
    return results(tmp_path / "one")[record.case]


def test_labels_say_protocol_interface_clause_and_level(folder: Path) -> None:
    found = labels(results(folder)["nsq/publish/header-name/space"])

    assert found["epic"] == "nsq"
    assert found["feature"] == "nsq/publish"
    assert found["story"] == "ext.publish.header-name"
    assert found["severity"] == "normal"


@pytest.mark.parametrize(
    ("level", "severity"),
    [("must", "critical"), ("should", "normal"), ("may", "minor"), ("observed", "trivial")],
)
def test_severity_is_the_level(tmp_path: Path, level: str, severity: str) -> None:
    record = case("publish/x", "ext.publish.accept", "t", "ok", level=level)

    assert labels(one(tmp_path, record))["severity"] == severity


@pytest.mark.parametrize(
    ("verdict", "status", "begins"),
    [
        ("pass", "passed", ""),
        ("reading", "passed", "other reading: "),
        ("fail", "failed", "new: "),
        ("known", "skipped", "known: "),
        ("unsupported", "skipped", "unsupported: "),
        ("inconclusive", "broken", "inconclusive: "),
        ("unstable", "broken", "unstable: "),
        ("error", "broken", "kit error: "),
    ],
)
def test_each_verdict_has_its_status_and_category(
    tmp_path: Path, verdict: str, status: str, begins: str
) -> None:
    result = one(tmp_path, case("publish/x", "ext.publish.accept", "t", "ok", verdict))
    details = cast(Json, result["statusDetails"])

    assert result["status"] == status
    assert str(details.get("message", "")).startswith(begins)
    assert bool(details.get("message")) == (verdict != "pass")
    assert details.get("flaky", False) == (verdict == "unstable")
    assert details.get("known", False) == (verdict == "known")


def test_what_is_weaker_than_the_profile_is_not_counted(tmp_path: Path) -> None:
    weak = failed("publish/x", "ext.publish.header-name", "t", "ok,open", ["error:*,open"])
    result = one(tmp_path, weak, header(profile="must"))

    assert result["status"] == "skipped"
    assert str(cast(Json, result["statusDetails"])["message"]).startswith("not counted: ")


def test_every_category_is_found_by_its_own_pattern_alone(folder: Path) -> None:
    patterns = json.loads((folder / "categories.json").read_text("utf-8"))
    assert len(patterns) == len(CATEGORIES)
    for name, (status, title) in CATEGORIES.items():
        found = [
            entry["name"]
            for entry in patterns
            if status in entry["matchedStatuses"]
            and re.match(entry["messageRegex"], f"{name}: one\ntwo")
        ]
        assert found == [title]


def test_steps_are_the_exchange_and_the_differing_answer_failed(folder: Path) -> None:
    result = results(folder)["nsq/publish/header-name/space"]
    steps = cast(list[Json], result["steps"])

    assert [str(step["name"]).partition(" ")[0] for step in steps[-2:]] == ["sent", "received"]
    assert [step["status"] for step in steps].count("failed") == 1
    assert steps[-1]["status"] == "failed"
    message = str(cast(Json, steps[-1]["statusDetails"])["message"])
    assert message == "frame_type at byte 4: 0 (response); expected 1 (error)"


def test_a_failure_has_dump_capture_and_reproducer_beside_it(folder: Path) -> None:
    result = results(folder)["nsq/publish/header-name/space"]
    attached = cast(list[dict[str, str]], result["attachments"])
    content = {item["name"]: (folder / item["source"]).read_bytes() for item in attached}

    assert list(content) == ["Annotated dump", "Capture", "Reproducer", "Bytes to send, hex"]
    assert b"<-- made wrong on purpose" in content["Annotated dump"]
    assert content["Capture"] == b"pcap"
    compile(content["Reproducer"], "reproduce.py", "exec")
    assert bytes.fromhex(content["Bytes to send, hex"].decode().split()[1])


def test_a_pass_has_its_dump_alone(folder: Path) -> None:
    result = results(folder)["nsq/publish/trace-response/plain"]

    names = [item["name"] for item in cast(list[dict[str, str]], result["attachments"])]
    assert (result["status"], names) == ("passed", ["Annotated dump"])


def test_the_history_is_the_same_for_another_target(tmp_path: Path) -> None:
    record = case("publish/x", "ext.publish.accept", "t", "ok")
    other = header(target=TargetRecord("nsq://10.0.0.9:4150", "nsq", {"name": "other"}))
    here, there = one(tmp_path, record), one(tmp_path, record, other)

    assert here["historyId"] == there["historyId"]
    assert here["testCaseId"] == there["testCaseId"]
    assert here["uuid"] != there["uuid"]
    assert cast(list[Json], there["parameters"]) == [
        {"name": "target", "value": "nsq://10.0.0.9:4150", "excluded": True}
    ]


def test_two_cases_have_two_histories(folder: Path) -> None:
    histories = Counter(str(result["historyId"]) for result in results(folder).values())

    assert len(histories) > 100
    assert set(histories.values()) == {1}


def test_no_word_of_the_machine_it_was_made_on(tmp_path: Path) -> None:
    said = {"hostname": "box-17", "broadcast_address": "box-17", "version": "4.2"}
    first = header(target=TargetRecord("nsq://127.0.0.1:4150", "nsq", said))
    write(write_bundle(tmp_path / "b.jsonl", first=first), tmp_path / "r")

    for path in (tmp_path / "r").glob("*"):
        if path.suffix in (".json", ".properties"):
            text = path.read_text("utf-8")
            assert "box-17" not in text
            assert socket.gethostname() not in text or socket.gethostname() == "localhost"
            assert '"host"' not in text
            assert f"/{getpass.getuser()}/" not in text


def test_a_clause_link_leads_to_the_clause_in_the_page_beside_it(folder: Path) -> None:
    result = results(folder)["nsq/publish/header-name/space"]
    (link,) = cast(list[dict[str, str]], result["links"])

    assert link["name"] == "ext.publish.header-name"
    page, _, place = link["url"].partition("#")
    assert page == PAGE
    assert f'id="{place}"' in (folder / page).read_text("utf-8")
    assert f"]({link['url']})" in str(result["description"])


def test_the_environment_says_target_and_claims(folder: Path) -> None:
    lines = (folder / "environment.properties").read_text("ascii").splitlines()
    facts = dict(line.split("=", 1) for line in lines)

    assert facts["target"] == "nsq://127.0.0.1:4150"
    assert facts["claim.upgrade"] == "absent"
    assert facts["reading.trace-empty"] == "deployed"
    assert facts["target.version"] == "4.2.0-rc1"


def test_an_environment_stays_ascii_and_one_line_a_fact(tmp_path: Path) -> None:
    strange = header(target=TargetRecord("nsq://x", "nsq", {"na me": "ü\n\\=😀"}))
    write(write_bundle(tmp_path / "b.jsonl", [], first=strange), tmp_path / "r")
    lines = (tmp_path / "r" / "environment.properties").read_bytes().splitlines()

    assert rb"target.na_me=\u00fc\n\\=\ud83d\ude00" in lines


def test_the_same_bundle_gives_the_same_files(folder: Path, tmp_path: Path) -> None:
    write(write_bundle(tmp_path / "run-0142.jsonl"), tmp_path / "r", lambda _h, _c: b"pcap")

    names = sorted(path.name for path in folder.iterdir())
    assert sorted(path.name for path in (tmp_path / "r").iterdir()) == names
    assert all((tmp_path / "r" / n).read_bytes() == (folder / n).read_bytes() for n in names)


def test_an_earlier_run_of_ours_goes_and_others_stay(tmp_path: Path) -> None:
    write(write_bundle(tmp_path / "a.jsonl"), tmp_path / "r")
    (tmp_path / "r" / "0b5f-result.json").write_text("{}")
    write(
        write_bundle(tmp_path / "b.jsonl", [case("a/b", "ext.publish.accept", "t", "ok")]),
        tmp_path / "r",
    )

    ours = list((tmp_path / "r").glob(f"{PREFIX}*-result.json"))
    assert len(ours) == 1
    assert (tmp_path / "r" / "0b5f-result.json").exists()


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    strange = failed(
        "publish/x",
        "ext.publish.accept",
        "<img src=x onerror=alert(1)>",
        "a\x1bb",
        ["ok"],
        reason="**](javascript:alert(1))\x00",
    )
    result = one(tmp_path, strange)

    assert "<img" not in str(result["description"])
    assert "javascript:alert(1))" not in str(result["description"])


def test_a_fault_is_told_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(BundleFault):
        write(tmp_path / "none.jsonl", tmp_path / "r")

    assert not (tmp_path / "r").exists()
