"""Captured documents judged through the command line."""

import json
from datetime import date, timedelta
from pathlib import Path

import pytest
from cli_process import Done, wireproof
from oms_documents import ALL_ATTRIBUTES, EXT, HEADER, MESSAGE, changed, ext, text, without

from wireproof_kit.bundle.file import read_bundle
from wireproof_spec.record import CaseRecord

pytestmark = pytest.mark.process

CASES = 21


def judged(folder: Path, target: str, *arguments: str) -> Done:
    return wireproof("run", f"oms+file:{target}", "--bundle", "b.jsonl", *arguments, cwd=folder)


def records(folder: Path) -> dict[str, CaseRecord]:
    return {record.case: record for record in read_bundle(folder / "b.jsonl").cases}


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> tuple[Done, Path]:
    """A folder of two files: three documents of which one is wrong in two places."""
    folder = tmp_path_factory.mktemp("documents")
    wrong = changed(EXT + "delayTime", "1000")
    wrong["message"]["header"].pop("bornHost")  # type: ignore[index]
    (folder / "captured").mkdir()
    (folder / "captured" / "right.json").write_bytes(json.dumps(MESSAGE, indent=2).encode())
    lines = b"\n".join([text(MESSAGE), b"", text(wrong)])
    (folder / "captured" / "orders.jsonl").write_bytes(lines)
    return judged(folder, "captured", "--html", "r.html", "--junit", "r.xml"), folder


def test_each_document_has_a_verdict_for_each_clause(faulty: tuple[Done, Path]) -> None:
    done, folder = faulty
    found = records(folder)
    assert done.code == 1
    assert len(found) == 3 * CASES
    failing = {name for name, record in found.items() if record.verdict == "fail"}
    assert failing == {
        "oms/extension-header/number/orders.jsonl:3",
        "oms/message/born-host/orders.jsonl:3",
    }
    others = {name for name, record in found.items() if record.verdict != "pass"} - failing
    assert not others
    assert "3 documents in 2 files" in done.out
    assert "oms.message 28/30 must" not in done.out
    assert "oms.message 29/30 must" in done.out


def test_a_failure_tells_the_place_what_was_due_and_what_stands_there(
    faulty: tuple[Done, Path],
) -> None:
    done, folder = faulty
    record = records(folder)["oms/extension-header/number/orders.jsonl:3"]
    line = (folder / "captured" / "orders.jsonl").read_bytes().split(b"\n")[2]
    column = line.index(b'"1000"') + 1
    place = f"orders.jsonl line 3, column {column} (/message/extensionHeader/delayTime)"
    due = "expected a Long, a whole number of 64 bits with sign"
    assert record.note == f'{place}: {due}, found "1000"'
    assert record.difference is not None
    assert record.difference.offset == column - 1
    told = " ".join(done.out.split())
    assert record.note in told
    assert '"delayTime": "1000"' in done.out
    assert "replay" not in done.out


def test_the_bundle_is_judged_again_and_reported(faulty: tuple[Done, Path]) -> None:
    done, folder = faulty
    again = wireproof("judge", "b.jsonl", cwd=folder)
    assert again.code == 1
    assert again.out.splitlines()[-1] == done.out.splitlines()[-1]
    page = (folder / "r.html").read_text("utf-8")
    assert "delayTime" in page
    assert "orders.jsonl line 3" in page
    assert 'failures="2"' in (folder / "r.xml").read_text("utf-8")


def test_failures_are_listed_by_document_or_for_all_of_them(
    faulty: tuple[Done, Path], tmp_path: Path
) -> None:
    _, folder = faulty
    bundle, listed = folder / "b.jsonl", tmp_path / "known.toml"
    terms = ("--expires", f"{date.today() + timedelta(days=30)}", "--reason", "old captures")
    wireproof("baseline", "update", str(listed), "--bundle", str(bundle), *terms)
    assert wireproof("baseline", "check", str(listed), cwd=tmp_path).code == 0
    known = wireproof("judge", str(bundle), "--baseline", str(listed), cwd=tmp_path)
    assert (known.code, "2 known" in known.out) == (0, True)
    text_of_all = listed.read_text("utf-8").replace("/orders.jsonl:3", "")
    listed.write_text(text_of_all, "utf-8")
    wrong = (folder / "captured" / "orders.jsonl").read_bytes().split(b"\n")[2]
    (tmp_path / "m.json").write_bytes(wrong)
    other = judged(tmp_path, "m.json", "--baseline", str(listed))
    assert (other.code, "2 known" in other.out) == (0, True)


def test_a_case_of_one_document_is_explained(tmp_path: Path) -> None:
    done = wireproof("explain", "oms/message/qos/any.jsonl:7", cwd=tmp_path)
    assert "the law of oms/message/qos" in done.out


def test_a_replay_is_refused_in_one_sentence(faulty: tuple[Done, Path]) -> None:
    _, folder = faulty
    signature = records(folder)["oms/message/born-host/orders.jsonl:3"].signature
    assert signature is not None
    done = wireproof("replay", signature, "--bundle", "b.jsonl", cwd=folder)
    assert "nothing was sent" in done.refused()


def test_right_documents_are_green_and_events_say_so(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_bytes(text(MESSAGE))
    done = judged(tmp_path, "m.json", "--json")
    events = [json.loads(line) for line in done.out.splitlines()]
    assert done.code == 0, done.err
    assert len(events) == 1 + CASES + 1
    assert events[-1]["exit"] == 0


def test_a_near_name_is_pointed_out_and_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_bytes(text(ext(partiton=1)))
    done = judged(tmp_path, "m.json")
    assert done.code == 0, done.out
    told = " ".join(done.out.split())
    assert "extensionHeader/partiton: expected perhaps partition, found 'partiton'" in told


def test_extension_headers_alone_are_judged_without_their_messages(tmp_path: Path) -> None:
    (tmp_path / "h.jsonl").write_bytes(text(ALL_ATTRIBUTES) + b"\n" + text({"priority": "1"}))
    done = judged(tmp_path, "h.jsonl?kind=extensionHeader")
    assert done.code == 1
    failing = [name for name, record in records(tmp_path).items() if record.verdict == "fail"]
    assert failing == ["oms/extension-header/number/h.jsonl:2"]
    assert "oms.message not selected" in done.out
    asked = judged(tmp_path, "h.jsonl?kind=extensionHeader", "oms.message")
    assert "the documents are extension headers alone" in asked.refused()


def test_messages_without_extension_header_leave_its_clauses_out_by_name(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_bytes(text(without("message/extensionHeader")))
    done = judged(tmp_path, "m.json")
    assert done.code == 0
    assert "oms.extension-header not selected" in done.out
    asked = judged(tmp_path, "m.json", "oms.extension-header")
    assert "no document has an extension header" in asked.refused()


@pytest.mark.parametrize(
    "data", [b"", b"{", b"\x00\x01", b"key: value\n"], ids=["empty", "cut", "binary", "yaml"]
)
def test_what_is_no_json_is_undecided_and_never_green(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "m.json").write_bytes(data)
    done = judged(tmp_path, "m.json", "-v")
    assert done.code == 3
    assert "NOT COUNTED (should) oms/message/wrapper/m.json" in done.out
    assert "m.json line 1, column 1" in " ".join(done.out.split()) or data == b"{"


def test_no_document_is_never_green(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "blank.jsonl").write_bytes(b"\n")
    assert "no such file" in judged(tmp_path, "m.json").refused()
    assert "holds no document" in judged(tmp_path, "empty").refused()
    assert "holds no document" in judged(tmp_path, "blank.jsonl").refused()
    assert "expected oms+file:PATH" in judged(tmp_path, "").refused()


def test_one_document_and_one_clause_can_be_chosen(tmp_path: Path) -> None:
    lines = [text(MESSAGE), text(without(HEADER + "bornHost"))]
    (tmp_path / "m.jsonl").write_bytes(b"\n".join(lines))
    assert judged(tmp_path, "m.jsonl", "oms/message/born-host/m.jsonl:1").code == 0
    assert list(records(tmp_path)) == ["oms/message/born-host/m.jsonl:1"]
    assert judged(tmp_path, "m.jsonl", "oms.message.born-host").code == 1
    assert len(records(tmp_path)) == 2
    assert "selects no case" in judged(tmp_path, "m.jsonl", "ext.publish").refused()
    assert "give an adapter" in judged(tmp_path, "m.jsonl", "oms.delay.not-early").refused()


def test_a_dry_run_names_each_document(tmp_path: Path) -> None:
    (tmp_path / "m.jsonl").write_bytes(b"\n".join([text(MESSAGE)] * 2))
    done = judged(tmp_path, "m.jsonl", "--dry-run", "oms.message.qos")
    assert done.out.split() == ["oms/message/qos/m.jsonl:1", "oms/message/qos/m.jsonl:2"]


def test_what_cannot_be_used_with_documents_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_bytes(text(MESSAGE))
    assert "kind expected" in judged(tmp_path, "m.json?kind=mesage").refused()
    assert "cannot be used with documents" in judged(tmp_path, "m.json", "--http", "h:1").refused()
    topic = judged(tmp_path, "m.json", "--topic", "ext_topic=t")
    assert "cannot be used with documents" in topic.refused()


def test_a_behavioural_clause_says_what_conforms(tmp_path: Path) -> None:
    done = wireproof("explain", "oms.delay.not-early", cwd=tmp_path)
    assert "OM-030" in done.out
    assert "conforms the message was not delivered early" in " ".join(done.out.split())
