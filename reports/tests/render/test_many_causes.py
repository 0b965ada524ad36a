"""A report with many causes: its size, and what is packed in it, unpacked and in a browser."""

import base64
import json
import re
import shutil
import zlib
from pathlib import Path

import msgspec
import pytest
from bundle_fixture import header_name, write_bundle
from site_visit import Visit, open_browser

from wireproof_reports.exchange.evidence import FEWEST_LINES, MOST_LINES, share_lines
from wireproof_reports.render.html import IN_A_PACK, MOST_PLAIN, render, write
from wireproof_spec.record import CaseRecord, DifferenceRecord
from wireproof_spec.step_record import StepRecord, TranscriptRecord

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
MOST_BYTES = 15_000_000


def distinct(number: int) -> CaseRecord:
    """A failure that no other one shares its cause with."""
    found = DifferenceRecord(f"field_{number}", 4, "1 (error)", "0 (response)")
    return msgspec.structs.replace(
        header_name(b'{"a b":"1"}'), case=f"nsq/publish/header-name/{number}", difference=found
    )


def many(path: Path, count: int) -> Path:
    return write_bundle(path, [distinct(number) for number in range(count)])


def unpacked(page: str) -> list[str]:
    """Return the texts of all packs of a page, in their order."""
    packs = re.findall(r'<script type="application/octet-stream" id="pack-\d+">(.*?)<', page)
    return [text for pack in packs for text in json.loads(zlib.decompress(base64.b64decode(pack)))]


def test_the_first_causes_stand_in_the_page_and_the_others_are_packed(tmp_path: Path) -> None:
    count = MOST_PLAIN + IN_A_PACK + 3
    page = render(many(tmp_path / "b.jsonl", count))

    texts = unpacked(page)

    assert len(texts) == count - MOST_PLAIN
    assert page.count('<details class="more packed"') == len(texts)
    assert page.count('<a download="') == MOST_PLAIN
    for number, text in enumerate(texts, start=MOST_PLAIN):
        assert f"Exchange of nsq/publish/header-name/{number}" in text
        assert text.count("copy script") == 1


def test_a_page_of_three_thousand_causes_is_less_than_fifteen_megabytes(tmp_path: Path) -> None:
    page = render(many(tmp_path / "b.jsonl", 3000))

    assert page.count('<article class="cause') == 3000
    assert len(page.encode()) < MOST_BYTES


def test_a_page_with_few_causes_packs_nothing(tmp_path: Path) -> None:
    page = render(many(tmp_path / "b.jsonl", MOST_PLAIN))

    assert unpacked(page) == []
    assert "packed" not in page.partition("<main")[2].partition("<script>")[0]


def crowded(number: int, parts: int) -> CaseRecord:
    """A failure whose first step has so many named parts, as only a made-up bundle has."""
    case = distinct(number)
    sent = [(at, 1, "x", False) for at in range(parts)]
    step = StepRecord(0, "a", "send", hex="00" * parts, length=parts, parts=tuple(sent))
    steps = (step, *case.transcript.steps)
    return msgspec.structs.replace(case, transcript=TranscriptRecord(steps))


def shown_lines(folder: Path, cases: int, parts: int) -> int:
    path = write_bundle(folder / "b.jsonl", [crowded(each, parts) for each in range(cases)])
    page = "".join([render(path), *unpacked(render(path))])
    return page.count('class="at"')


def test_a_step_of_many_parts_shows_the_first_ones_and_the_rest_of_its_bytes(
    tmp_path: Path,
) -> None:
    few, many_parts = shown_lines(tmp_path, 1, MOST_LINES), shown_lines(tmp_path, 1, 5_000)

    assert few == many_parts > MOST_LINES


def test_the_lines_of_a_page_are_shared_by_its_steps() -> None:
    assert share_lines((10,) * 100) == MOST_LINES
    assert MOST_LINES > share_lines((10,) * 5_000) > FEWEST_LINES
    assert share_lines((10,) * 50_000) == FEWEST_LINES
    assert share_lines((10_000,) * 100) == share_lines((60,) * 100)


@pytest.mark.process
@pytest.mark.long
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_a_browser_unpacks_what_is_opened(tmp_path: Path) -> None:
    last = MOST_PLAIN + IN_A_PACK
    write(many(tmp_path / "b.jsonl", last + 1), tmp_path / "report.html")
    with open_browser(CHROMIUM) as page:
        visit = Visit(page, tmp_path)
        visit.open("report")
        for number in (MOST_PLAIN, last):
            block = page.locator(f"#cause-{number + 1} details.packed")
            block.locator("summary").first.click()
            block.locator("ol.steps").wait_for()
            assert f"header-name/{number}" in block.inner_text()
            saved = block.locator("a[download]").get_attribute("href") or ""
            assert saved.startswith("data:text/x-python;charset=utf-8,")
            assert "import%20socket" in saved
        assert visit.wrong == []
        assert [url for url in visit.asked if not url.startswith("file:")] == []
