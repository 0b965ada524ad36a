"""A session with documents: what it shows, what it hands to cases."""

from pathlib import Path

import pytest
from oms_documents import MESSAGE, changed, text, without

from wireproof_kit.errors import ArrangementFailed, UsageFault
from wireproof_kit.oms.capture import Capture
from wireproof_kit.oms.session import DocumentSession, open_session
from wireproof_kit.targets.session import SessionOptions
from wireproof_kit.targets.target import parse_target
from wireproof_kit.wire.transcript import Transcript

OPTIONS = SessionOptions(seed=1, run_token="t")
HEADER_CLAUSE = "oms.extension-header.number"


def opened(path: Path, query: str = "") -> DocumentSession:
    return open_session(parse_target(f"oms+file:{path}{query}", {"oms+file": {}}), OPTIONS)


def folder_of(path: Path, **documents: bytes) -> Path:
    for name, data in documents.items():
        (path / f"{name}.json").write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("data", "query", "message", "header"),
    [
        (text(MESSAGE), "", "ok", "ok"),
        (text(without("message/extensionHeader")), "", "ok", "none"),
        (b"no JSON", "", "ok", "none"),
        (text(changed("message/extensionHeader", [])), "", "ok", "ok"),
        (b"{}", "?kind=extensionHeader", "extension-header-alone", "ok"),
    ],
)
def test_the_documents_show_what_can_be_judged(
    tmp_path: Path, data: bytes, query: str, message: str, header: str
) -> None:
    session = opened(folder_of(tmp_path, a=data), query)
    assert session.probe_capability("message").observation.value == message
    assert session.probe_capability("extension-header").observation.value == header
    assert session.probe_reading("oms-count-base").observation.value == "unavailable"


def test_a_fingerprint_changes_with_any_byte_and_any_name(tmp_path: Path) -> None:
    first = opened(folder_of(tmp_path, a=b"1", b=b"23")).fingerprint()
    assert (first["name"], first["kind"]) == ("2 documents in 2 files", "message")
    moved = opened(folder_of(tmp_path, a=b"12", b=b"3")).fingerprint()
    (tmp_path / "b.json").rename(tmp_path / "c.json")
    renamed = opened(tmp_path).fingerprint()
    assert len({first["sha256"], moved["sha256"], renamed["sha256"]}) == 3


def test_a_single_document_needs_no_name(tmp_path: Path) -> None:
    one = opened(folder_of(tmp_path, a=text(MESSAGE)))
    assert one.arguments(("document_name",), Transcript()) == {"document_name": "a.json"}
    several = opened(folder_of(tmp_path, b=b"{}"))
    with pytest.raises(ArrangementFailed, match="has several"):
        several.arguments(("document_name",), Transcript())


def test_a_fault_is_recorded_with_the_text_around_it(tmp_path: Path) -> None:
    transcript = Transcript()
    wrong = changed("message/extensionHeader", {"priority": "1"})
    session = opened(folder_of(tmp_path, a=text(wrong)))
    capture = session.arguments(("capture",), transcript)["capture"]
    assert isinstance(capture, Capture)
    assert capture.observe("a.json", HEADER_CLAUSE).value == "string"
    note, shown = transcript.steps()
    (part,) = shown.parts
    assert "bytes, sha256" in note.note
    assert shown.data[part.offset :].startswith(b'"1"')
    assert len(shown.data) <= 64
    with pytest.raises(ArrangementFailed, match="was there when the run began"):
        capture.observe("b.json", HEADER_CLAUSE)


def test_many_faults_are_told_in_part(tmp_path: Path) -> None:
    names = ("delayTime", "priority", "partition", "expireTime", "storeTimestamp")
    wrong = changed("message/extensionHeader", dict.fromkeys(names, True))
    session = opened(folder_of(tmp_path, a=text(wrong)))
    capture = session.arguments(("capture",), Transcript())["capture"]
    assert isinstance(capture, Capture)
    note = capture.observe("a.json", HEADER_CLAUSE).note
    assert note.count("expected ") == 4
    assert note.endswith("; and 1 more")


def test_topics_cannot_be_used_with_documents(tmp_path: Path) -> None:
    target = parse_target(f"oms+file:{folder_of(tmp_path, a=b'1')}", {"oms+file": {}})
    with pytest.raises(UsageFault, match="cannot be used with documents"):
        open_session(target, SessionOptions(seed=1, run_token="t", topics={"ext_topic": "t"}))
