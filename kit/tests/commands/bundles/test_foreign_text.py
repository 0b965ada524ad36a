"""Text from outside acts in no format: every field of every record is a payload once."""

import copy
import html.parser
import re
from pathlib import Path
from xml.etree import ElementTree as etree

import hostile_bundles as hostile
import pytest
from foreign_text import PAYLOAD, SIGNS, Json, dense, list_texts

from wireproof.main import main
from wireproof_spec.record import VERDICTS

KINDS = ("html", "junit", "md", "statement", "badge", "allure", "pcap-all")


def bundle(*, keyed: bool) -> bytes:
    """Return a bundle of payloads; with ``keyed``, what is looked up by is a payload too."""
    records = dense()
    fitting = hostile.whole()
    header, footer = records["header"], records["footer"]
    cases: list[Json] = []
    for verdict in VERDICTS:
        case = copy.deepcopy(records["case"])
        case["verdict"] = verdict
        if not keyed:
            like = next(each for each in fitting if each["kind"] == "case")
            case |= {name: like[name] for name in ("clause", "observation")}
            case["case"] = f"{like['case']}/{verdict}"
        cases.append(case)
    way = records["way"]
    if not keyed:
        way["result"] = cases[2]
        header["spec"] = fitting[0]["spec"]
        header["readings"] = {}
    return hostile.sealed([header, *cases, way, records["finding"], records["campaign"], footer])


class Page(html.parser.HTMLParser):
    """Collects the tags and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names |= {tag, *(name for name, _ in attrs)}


def check_text(text: str, where: str) -> None:
    for sign in SIGNS:
        assert sign not in text, (where, sign)


def check_markdown(text: str, where: str) -> None:
    check_text(text, where)
    unindented = re.sub(r"\n\n    [^\n]*", "", text)
    outside = re.sub(r"(`+).*?\1|<code>.*?</code>|\\.", "", unindented)
    assert "<wpx" not in outside, where
    assert "](javascript" not in outside, where
    assert not re.search(r"^(# |- )ZZ", text, re.MULTILINE), where


def test_a_payload_stands_in_every_field() -> None:
    texts = [path for record in dense().values() for path in list_texts(record)]

    assert len(texts) > 60
    assert {path[0] for path in texts} >= {"title", "origin", "note", "reason", "kit", "statement"}


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_no_report_lets_a_payload_act(
    kind: str, keyed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("b.jsonl").write_bytes(bundle(keyed=keyed))

    code = main(["report", "b.jsonl", f"--{kind}", "out"])

    assert code == 0 or keyed
    for path in (each for each in Path().rglob("*") if each.is_file() and each.name != "b.jsonl"):
        if path.suffix in (".pcapng", ".lua"):
            check_text(re.sub(r"[^\x20-\x7e]+", " ", path.read_text("latin-1")), str(path))
            continue
        text = path.read_text("utf-8")
        if path.suffix == ".json":
            check_text(text, str(path))
        elif kind == "md":
            check_markdown(text, str(path))
        elif kind == "junit":
            assert "wpx" not in {each.tag for each in etree.fromstring(text).iter()}
            check_text(text, str(path))
        elif path.suffix in (".html", "") and kind in ("html", "statement", "allure"):
            page = Page()
            page.feed(text)
            assert page.names.isdisjoint({"wpx", "onx"}), path
            check_text(text, str(path))


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize(
    "command",
    [
        ("judge", "b.jsonl", "-vv"),
        ("diff", "b.jsonl", "b.jsonl"),
        ("diff", "g.jsonl", "b.jsonl"),
        ("diff", "g.jsonl", "b.jsonl", "--md"),
        ("replay", "b.jsonl", "--to", "nsq://127.0.0.1:1"),
        ("replay", PAYLOAD.split("\x00")[0], "--bundle", "b.jsonl"),
        ("baseline", "update", "k.toml", "--bundle", "b.jsonl", "--reason", "x"),
        ("explain", "b.jsonl"),
    ],
)
def test_no_command_lets_a_payload_act_on_the_terminal(
    command: tuple[str, ...],
    keyed: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("b.jsonl").write_bytes(bundle(keyed=keyed))
    Path("g.jsonl").write_bytes(hostile.sealed(hostile.lines()))

    main(command)

    told = capsys.readouterr()
    assert "Traceback" not in told.err
    assert "kit error" not in told.out + told.err
    check_text(told.out + told.err, " ".join(command[:1]))
    if "--md" in command:
        check_markdown(told.out, "diff --md")
