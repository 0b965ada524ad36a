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

from wireproof_reports.render.html import IN_A_PACK, MOST_PLAIN, render, write
from wireproof_spec.record import CaseRecord, DifferenceRecord

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
