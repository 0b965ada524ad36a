import re
import shutil
import subprocess
import time
from functools import cache
from importlib import resources
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from bundle_fixture import case, failed, failures, header, published, write_bundle
from page_reader import PageReader

from wireproof_reports.bundle_file import BundleFault, read_bundle
from wireproof_reports.render.html import render, write
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.record import CaseRecord, HeaderRecord
from wireproof_spec.step_record import TranscriptRecord

HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(1)></style>{{7*7}}\u202e\0"
KEPT = {
    "kind",
    "verdict",
    "state",
    "level",
    "profile",
    "control",
    "hex",
    "deflate",
    "protocol",
    "sha256",
}
ATTRIBUTES = {"href", "src", "action", "srcset", "poster", "data", "formaction", "style"}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bundle(tmp_path_factory.mktemp("bundle") / "run-0142.jsonl")


@pytest.fixture(scope="module")
def page(bundle: Path) -> PageReader:
    return PageReader(render(bundle))


def part(page: PageReader, name: str) -> str:
    return next(e.text for e in page.all("section") if e.attributes["id"] == name)


def hostile(value: object, name: str = "") -> object:
    """Put hostile text behind every string of a record whose value is free."""
    if isinstance(value, dict):
        return {key: hostile(item, key) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [hostile(item, name) for item in value]
    return value + HOSTILE if isinstance(value, str) and name not in KEPT else value


def test_well_formed(page: PageReader) -> None:
    assert page.faults == []


def test_a_difference_has_one_place(tmp_path: Path) -> None:
    """Where the exchange marks the differing line, its offset is told there alone."""
    marked = next(iter(failures()))
    bare = msgspec.structs.replace(marked, case="nsq/publish/bare", transcript=TranscriptRecord())

    assert "at byte 18" not in first_difference_of(tmp_path, marked)
    assert "at byte 18" in first_difference_of(tmp_path, bare)


def first_difference_of(folder: Path, record: CaseRecord) -> str:
    text = render(write_bundle(folder / "run.jsonl", [record]))
    return text.partition("<dt>First difference</dt>")[2].partition("</div>")[0]


def test_ids_are_unique_and_links_lead_somewhere(page: PageReader) -> None:
    ids = page.values("id")

    assert len(ids) == len(set(ids))
    assert all(identifier and not re.search(r"\s", identifier) for identifier in ids)
    links = [link.removeprefix("#") for link in page.values("href") if link.startswith("#")]
    assert set(links) <= set(ids)
    assert set(page.values("aria-labelledby")) <= set(ids)


def test_headings_never_skip_a_level(page: PageReader) -> None:
    levels = [int(element.tag[1]) for element in page.all("h1", "h2", "h3", "h4", "h5", "h6")]

    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(deep <= before + 1 for before, deep in pairwise(levels))
    assert all(element.text.strip() for element in page.all("h1", "h2", "h3", "h4"))


def test_nothing_is_loaded_from_elsewhere(page: PageReader) -> None:
    targets = [
        value
        for element in page.elements
        for name, value in element.attributes.items()
        if name in ATTRIBUTES
    ]
    assert all(value.startswith(("#", "data:text/x-python;base64,")) for value in targets)
    assert page.all("link", "img", "iframe", "object", "embed", "base") == []
    sheet = next(element.text for element in page.all("style"))
    assert not re.search(r"url\(|@import|@font-face", sheet)
    policy = next(e for e in page.all("meta") if "http-equiv" in e.attributes)
    assert policy.attributes["content"].startswith("default-src 'none'; style-src 'sha256-")


def test_no_event_handlers_in_attributes(page: PageReader) -> None:
    names = {name for element in page.elements for name in element.attributes}

    assert not {name for name in names if name.startswith("on")}


def test_landmarks_and_names(page: PageReader) -> None:
    assert [len(page.all(tag)) for tag in ("main", "nav", "header", "footer")] == [1, 1, 1, 1]
    assert page.all("html")[0].attributes["lang"] == "en"
    assert page.all("a")[0].attributes == {"class": "skip", "href": "#main"}
    assert all("aria-labelledby" in element.attributes for element in page.all("section"))
    assert all("label" in field.ancestors for field in page.all("input", "select"))


def test_tables_have_captions_and_scopes(page: PageReader) -> None:
    tables = page.all("table")

    assert tables
    assert all(any(child.tag == "caption" for child in table.children) for table in tables)
    assert all(cell.attributes.get("scope") in ("row", "col") for cell in page.all("th"))


def test_what_opens_begins_with_its_summary(page: PageReader) -> None:
    assert all(element.children[0].tag == "summary" for element in page.all("details"))


def test_scrolling_boxes_can_be_reached_by_keyboard(page: PageReader) -> None:
    assert all(element.attributes.get("tabindex") == "0" for element in page.all("pre"))


def test_signs_never_stand_without_words(page: PageReader) -> None:
    badges = [e for e in page.all("span") if e.attributes.get("class", "").startswith("badge")]

    assert badges
    assert all(re.search("[a-z]{3}", badge.text) for badge in badges)


def test_statement_stands_at_the_top(page: PageReader, bundle: Path) -> None:
    text = part(page, "statement")

    assert read_bundle(bundle).footer.statement in text
    assert "not judged core clauses not asserted: ext.upgrade.accept" in text
    assert "not selected give --data to judge it" in text
    whole = next(element.text for element in page.all("body"))
    assert not re.search(r"(?i)\bis conformant|^conformant", whole)


def test_a_cause_has_law_bytes_and_three_reproducers(page: PageReader) -> None:
    cause = next(e for e in page.all("article") if e.attributes.get("id") == "cause-1")

    clause = load_catalogue("nsq").clause("ext.publish.trace-response")
    assert clause is not None
    assert clause.law in cause.text
    assert "published text 000, section “Extend PUB protocol”" in cause.text
    assert "differs first here: expected 1234567" in cause.text
    assert "wireproof replay nsq/publish/trace-response/small --bundle run-0142" in cause.text
    assert "2020563249" in cause.text
    assert "import socket" in cause.text
    assert "2 more cases of the same cause" in cause.text


def test_what_was_made_wrong_on_purpose_is_marked(page: PageReader) -> None:
    rows = [e for e in page.all("tr") if e.attributes.get("class") == "wrong"]

    assert rows
    assert all("made wrong on purpose" in row.text for row in rows)


def test_sections_tell_the_rest(page: PageReader) -> None:
    assert "follows “deployed”" in part(page, "readings")
    assert "as youzan nsqd" in part(page, "readings")
    assert "claimed, but broken" in part(page, "claims")
    assert "known until 2027-03-31" in part(page, "known")
    assert "HTTP 404" in part(page, "claims")
    assert "POST /topic/meta/update" in part(page, "unsupported")
    assert "target died at" in part(page, "undecided")
    assert "ext.client" not in part(page, "coverage")
    assert "--seed 7319" in part(page, "repeat")


def test_every_case_and_clause_is_there(page: PageReader, bundle: Path) -> None:
    text = part(page, "clauses")
    lines = bundle.read_bytes().splitlines()[1:-1]
    cases = [msgspec.json.decode(line, type=CaseRecord) for line in lines]

    assert all(case.case in text and case.clause in text for case in cases)


def test_every_free_text_is_escaped(tmp_path: Path, bundle: Path) -> None:
    lines = bundle.read_bytes().splitlines()
    head = msgspec.json.decode(lines[0])
    spoilt = hostile(head)
    assert isinstance(spoilt, dict)
    first = msgspec.convert({**spoilt, "reading": head["reading"]}, HeaderRecord)
    cases = [
        msgspec.convert(hostile(msgspec.json.decode(line)), CaseRecord) for line in lines[1:-1]
    ]
    page = PageReader(render(write_bundle(tmp_path / "hostile.jsonl", cases, first=first)))

    assert page.faults == []
    assert len(page.all("script")) == 1
    assert page.all("img") == []
    assert "alert(1)" not in page.all("script")[0].text + page.all("style")[0].text
    assert "alert(1)" in page.all("main")[0].text
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    assert all(not re.search(r"[\s\"'<>]", identifier) for identifier in ids)


def test_a_run_without_failures(tmp_path: Path) -> None:
    cases = [case("publish/accept", "ext.publish.accept", "A right frame", "ok,open")]
    page = PageReader(render(write_bundle(tmp_path / "good.jsonl", cases, exit=0)))

    assert page.faults == []
    assert "No failure up to level should" in page.all("header")[0].text
    assert "No case failed." in part(page, "failures")


def test_a_run_without_cases(tmp_path: Path) -> None:
    path = write_bundle(tmp_path / "none.jsonl", [], first=header(claims={}, readings={}), exit=2)
    page = PageReader(render(path))

    assert page.faults == []
    assert "Not judged" in page.all("header")[0].text


def test_clauses_of_another_catalogue_are_shown(tmp_path: Path) -> None:
    strange = failed("odd/one", "ext.gone.away", "A case of old", "ok", ["error:*"])
    page = PageReader(render(write_bundle(tmp_path / "old.jsonl", [strange])))

    assert page.faults == []
    assert "ext.gone.away" in part(page, "clauses")


def test_the_same_bundle_gives_the_same_page(bundle: Path) -> None:
    assert render(bundle) == render(bundle)


def test_write(bundle: Path, tmp_path: Path) -> None:
    write(bundle, tmp_path / "report.html")

    assert (tmp_path / "report.html").read_text("utf-8") == render(bundle)


def test_a_fault_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(BundleFault):
        write(tmp_path / "none.jsonl", tmp_path / "report.html")

    assert not (tmp_path / "report.html").exists()


def test_a_large_run_stays_light(tmp_path: Path) -> None:
    shown = published().record()
    cases = [
        case(f"publish/accept/{number}", "ext.publish.accept", "t", "ok", transcript=shown)
        for number in range(5000)
    ]
    path = write_bundle(tmp_path / "large.jsonl", cases)
    started = time.process_time()

    assert len(render(path)) < 9_000_000
    assert time.process_time() - started < 30


def tokens(sheet: str, marker: str) -> dict[str, str]:
    block = sheet[sheet.index(marker) :]
    return dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", block[: block.index("}")]))


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@cache
def sheet() -> str:
    return (resources.files("wireproof_reports") / "templates/report.css").read_text("utf-8")


@pytest.mark.parametrize("marker", [":root {", "(prefers-color-scheme: dark)"])
def test_text_has_contrast(marker: str) -> None:
    colours = tokens(sheet(), marker)
    grounds = ("ground", "paper", "sunk")
    pairs = [(ink, g) for ink in ("ink", "soft", "faint", "accent") for g in grounds]
    verdicts = ("good", "bad", "other", "known", "open", "none", "fault")
    pairs += [(name, f"{name}-tint") for name in verdicts]
    pairs += [("bad", "paper"), ("ink", "known-tint"), ("ink", "bad-tint"), ("soft", "bad-tint")]
    pairs += [
        ("faint", "known-tint"),
        ("faint", "bad-tint"),
        ("paper", "ink"),
        ("paper", "accent"),
    ]

    weak = {
        pair: contrast(colours[pair[0]], colours[pair[1]])
        for pair in pairs
        if contrast(colours[pair[0]], colours[pair[1]]) < 4.5
    }
    assert weak == {}


CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
PROBE = """<!doctype html><body>{frames}<script>
onload = () => {{
  const said = [...document.querySelectorAll("iframe")].map((frame) => {{
    const page = frame.contentDocument;
    page.querySelectorAll("details").forEach((item) => {{ item.open = true; }});
    const tools = page.getElementById("tools").hidden ? "no-tools" : "tools";
    const root = page.documentElement;
    const fits = root.scrollWidth <= root.clientWidth ? "fits" : root.scrollWidth;
    const badge = frame.contentWindow.getComputedStyle(page.querySelector(".badge"));
    const find = page.getElementById("find");
    find.value = "ext.subscribe.tag-ignored";
    find.dispatchEvent(new Event("input"));
    const found = page.querySelectorAll("details.clause:not([hidden])").length;
    return [frame.width, fits, tools, badge.borderRadius, found].join(":");
  }});
  document.body.textContent = "said " + said.join(" ") + " end";
}};
</script>"""


@pytest.mark.process
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_a_browser_shows_it_without_sideways_scrolling_and_filters_it(
    bundle: Path, tmp_path: Path
) -> None:
    assert CHROMIUM is not None
    write(bundle, tmp_path / "report.html")
    widths = (320, 390, 768, 1280)
    frames = "".join(f'<iframe src="report.html" width="{w}"></iframe>' for w in widths)
    (tmp_path / "probe.html").write_text(PROBE.format(frames=frames), encoding="utf-8")
    command = [
        CHROMIUM,
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
        "--allow-file-access-from-files",
        f"--user-data-dir={tmp_path / 'profile'}",
        "--virtual-time-budget=10000",
        "--dump-dom",
        (tmp_path / "probe.html").as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    said = re.search(r"said (.*) end", done.stdout)
    assert said is not None, done.stderr[-2000:]
    assert said[1].split() == [f"{width}:fits:tools:4px:1" for width in widths]
