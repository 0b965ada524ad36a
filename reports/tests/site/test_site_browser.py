"""The site as a person meets it: from a file, in Chromium, with the keyboard, light and dark."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Page, Route
from site_fixture import ANSWERS, CLAUSES, HOSTILE, LARGE, VENDORS, Rows, write_data
from site_visit import Visit, contrast, open_browser, table

from wireproof_reports.site import write
from wireproof_spec.clauses.loading import load_catalogue

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
SHOWN = {
    "causes": "causes",
    "flaky": "flakes",
    "levels": "versions",
    "regressions": "versions",
    "durations": "durations",
    "coverage_clauses": "coverage",
    "coverage_grammar": "coverage",
    "findings": "campaigns",
    "campaigns": "campaigns",
    "surprise": "surprise",
    "matrix": "matrix",
    "evidence": "matrix",
}

pytestmark = [
    pytest.mark.process,
    pytest.mark.long,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Rows]]:
    folder = tmp_path_factory.mktemp("site")
    rows = write_data(folder)
    write(folder)
    return folder, rows


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with open_browser(CHROMIUM) as page:
        yield page


@pytest.fixture
def visit(page: Page, site: tuple[Path, dict[str, Rows]]) -> Iterator[Visit]:
    visit = Visit(page, site[0])
    yield visit
    visit.close()
    assert visit.wrong == []
    assert [
        url for url in visit.asked if not url.startswith(("file:", "about:", "data:", "blob:"))
    ] == []


def spoken(value: object, kind: str) -> str:
    """What a person shall read for a value: the oracle of the tables."""
    if value is None:
        return ""
    if kind == "integer":
        return f"{value:,}"
    if kind == "number":
        return f"{value:,.3f}".rstrip("0").rstrip(".")
    if kind == "boolean":
        return "yes" if value else "no"
    if kind == "texts":
        return ", ".join(str(each) for each in value)  # type: ignore[attr-defined]  # a list
    if kind == "time":
        return str(value)[:19].replace("T", " ")
    return str(value)


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_every_number_of_every_table_is_that_of_the_data(
    visit: Visit, site: tuple[Path, dict[str, Rows]], name: str
) -> None:
    columns, rows = ANSWERS[name]()
    kept = [(at, n, kind) for at, (n, kind) in enumerate(columns) if kind != "counts"]
    expected = [
        [spoken(row[at], kind)[: 12 if n == "bundle" else None] for at, n, kind in kept]
        for row in rows
    ]

    assert table(visit.open(SHOWN[name]), name) == expected


def test_integers_too_large_for_a_browser_are_exact(visit: Visit) -> None:
    assert LARGE in visit.open("causes").inner_text("#causes")
    assert LARGE in visit.open("campaigns").inner_text("#findings")


def test_a_head_sorts_up_down_and_not_at_all(visit: Visit) -> None:
    page = visit.open("causes")
    head = page.get_by_role("button", name="versions", exact=True)
    first = table(page, "causes")

    def numbers() -> list[str]:
        return [row[5] for row in table(page, "causes")]

    head.click()
    assert numbers() == ["2", "3", "10"]
    assert page.locator("#causes th[aria-sort=ascending]").count() == 1
    head.click()
    assert numbers() == ["10", "3", "2"]
    assert page.locator("#causes th[aria-sort=descending]").count() == 1
    head.click()
    assert table(page, "causes") == first


def test_what_is_missing_sorts_last_up(visit: Visit) -> None:
    page = visit.open("surprise")
    page.get_by_role("button", name="number").click()

    assert [row[0] for row in table(page, "surprise")] == ["b", "a", "c"]


@pytest.mark.parametrize(
    ("words", "clauses"),
    [
        ("header-json", ["ext.publish.header-json"]),
        ("EXT.PUBLISH", ["ext.publish.header-json", "ext.publish.accept"]),
        ("ext trace_id", ["ext.publish.header-json"]),
        ("versions>2", ["ext.publish.header-json", "ext.publish.accept"]),
        ("versions<3 value:http", ["ext.http.ext"]),
        ("clause=ext.publish", []),
        ("cases=1234", ["ext.publish.header-json"]),
        ("cases:1234", ["ext.publish.header-json"]),
        ("1,234", ["ext.publish.header-json"]),
        ("no:column", []),
    ],
)
def test_a_filter_keeps_what_meets_all_words(visit: Visit, words: str, clauses: list[str]) -> None:
    page = visit.open("causes")
    page.get_by_label("Filter").fill(words)

    assert [row[1] for row in table(page, "causes")] == clauses
    assert page.locator("#causes .count").inner_text() == f"{len(clauses)} of 3 rows"


def test_what_is_shown_can_be_sent_to_somebody(visit: Visit) -> None:
    page = visit.open("causes")
    page.get_by_label("Filter").fill("versions>2")
    page.get_by_role("button", name="cases", exact=True).click()
    address, shown = page.url, table(page, "causes")
    assert [row[7] for row in shown] == ["7", "1,234"]
    again = visit.open("causes", f"#{address.partition('#')[2]}")

    assert table(again, "causes") == shown


def test_a_clause_leads_to_its_row_of_the_matrix(visit: Visit) -> None:
    page = visit.open("causes")
    page.get_by_role("link", name="ext.publish.header-json").click()

    page.wait_for_selector("button.cell")
    assert page.locator(".matrix tbody th[scope=row] code").all_inner_texts() == [
        "ext.publish.header-json"
    ]
    assert "protocol=nsq" in page.url


def cells(page: Page) -> dict[str, str]:
    found = page.locator("button.cell").all()
    return {str(cell.get_attribute("aria-label")): cell.inner_text() for cell in found}


def test_the_matrix_has_a_cell_for_each_row_and_says_what_failed(
    visit: Visit, site: tuple[Path, dict[str, Rows]]
) -> None:
    rows = site[1]["matrix"]
    found = cells(visit.open("matrix"))

    assert len(found) == len(rows) == 9
    fails = [label for label in found if "fails" in label]
    assert fails == ["ext.publish.header-json, harbor 1.2: fails, 2 results do not conform"]
    assert found[fails[0]].split() == ["✕", "2"]
    assert visit.page.locator("span.none").count() == len(CLAUSES) * len(VENDORS) - 9


def test_a_cell_opens_the_law_and_the_evidence_and_has_an_address(visit: Visit) -> None:
    page = visit.open("matrix")
    page.locator("button.cell.fails").click()
    detail = page.locator(".detail")

    law = {clause.id: clause.law for clause in load_catalogue("nsq").clauses()}
    assert law["ext.publish.header-json"] in detail.inner_text()
    assert "5 pass, 2 fail" in detail.inner_text()
    facts = detail.locator(".evidence").inner_text()
    assert f"wireproof replay 'nsq/publish/{HOSTILE}' --bundle 'a b.jsonl'" in facts
    assert f"Observed\nid:{LARGE}\nWould conform\nerror:E_BAD,open\n{HOSTILE}\n" in facts
    assert f"trace_id: expected {LARGE}, found nothing" in facts
    assert "5 of 5 times" in facts
    assert f"trace_id: {LARGE} (harbor; 1,234 results)" in detail.inner_text()
    address = page.url
    page.keyboard.press("Escape")
    assert not detail.is_visible()
    assert page.evaluate("document.activeElement.className") == "cell fails"

    again = visit.open("matrix", f"#{address.partition('#')[2]}")
    assert "5 pass, 2 fail" in again.locator(".detail").inner_text()


def test_a_cell_that_conforms_has_no_evidence(visit: Visit) -> None:
    page = visit.open("matrix")
    page.locator("button.cell.conforms").first.click()

    assert page.locator(".detail").is_visible()
    assert page.locator(".detail .evidence").count() == 0


def test_arrow_keys_walk_the_matrix_and_one_cell_alone_is_a_tab_stop(visit: Visit) -> None:
    page = visit.open("matrix")
    assert page.locator("button.cell[tabindex='0']").count() == 1
    page.locator("button.cell[tabindex='0']").focus()
    walked = []
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"):
        page.keyboard.press(key)
        walked.append(page.evaluate("document.activeElement.dataset.key").split("|"))

    assert [step[2] for step in walked] == ["1.10", "1.10", "1.2", "1.2"]
    assert walked[0][3] == walked[3][3] != walked[1][3] == walked[2][3]
    page.keyboard.press("Enter")
    assert page.locator(".detail").is_visible()


def test_the_matrix_can_show_only_rows_with_a_standing(visit: Visit) -> None:
    page = visit.open("matrix")
    page.get_by_label("Only rows with").select_option("fails")

    assert page.locator(".matrix tbody th[scope=row] code").all_inner_texts() == [
        "ext.publish.header-json"
    ]
    assert "only=fails" in page.url
    assert page.locator(".picture .count").inner_text() == "1 of 4 clauses, 3 targets"


def test_a_large_matrix_is_drawn_in_parts(visit: Visit) -> None:
    visit.page.route("**/matrix.js", cut_small)
    page = visit.open("matrix")
    assert page.locator(".matrix tbody th[scope=row]").count() == 1
    more = page.get_by_role("button", name="Show more clauses")
    more.click()
    more.click()

    assert page.locator(".matrix tbody th[scope=row]").count() == 4
    assert not more.is_visible()


def cut_small(route: Route) -> None:
    """Let the page believe that it may draw few cells."""
    text = Path(unquote(urlsplit(route.request.url).path)).read_text("utf-8")
    text = text.replace("MOST_CELLS = 6000", "MOST_CELLS = 3").replace("max(20,", "max(1,")
    route.fulfill(body=text, content_type="text/javascript")


def test_every_colour_has_a_sign_and_a_word(visit: Visit) -> None:
    page = visit.open("matrix")
    legend = page.locator(".legend li").all_inner_texts()

    assert len(legend) == len({text[0] for text in legend}) == 9
    assert all(cell.split()[0] in {text[0] for text in legend} for cell in cells(page).values())


@pytest.mark.parametrize(
    "name", ["flakes", "versions", "durations", "coverage", "causes", "campaigns"]
)
def test_pictures_are_drawn_and_say_in_words_what_they_show(visit: Visit, name: str) -> None:
    page = visit.open(name)
    page.wait_for_selector(".plot .main-svg")

    for plot in page.locator(".plot").all():
        assert plot.get_attribute("role") == "img"
        assert len(str(plot.get_attribute("aria-label"))) > 30


def drawn(page: Page, number: int = 0) -> list[dict[str, object]]:
    page.wait_for_selector(".plot .main-svg")
    return page.evaluate(  # type: ignore[no-any-return]  # what the page's own script keeps
        f"document.querySelectorAll('.plot')[{number}].data"
        ".map((trace) => ({name: trace.name, x: trace.x, y: trace.y}))"
    )


def test_pictures_draw_the_numbers_of_the_data(visit: Visit) -> None:
    (flaky,) = drawn(visit.open("flakes"))
    assert flaky["x"] == [0.375]
    lines = drawn(visit.open("versions"))
    assert [line["y"] for line in lines] == [[0.9, 1]] * 3
    steps = {str(bars["name"]): bars["y"] for bars in drawn(visit.page, 1)}
    assert steps == {"regressed": [2], "fixed": [1]}
    first, p95, *_ = drawn(visit.open("durations"))
    assert (first["y"], p95["y"]) == ([1], [3])
    bars = drawn(visit.page, 1)
    assert bars[0]["x"] == ["0 µs", *_decades()]
    assert sum(bars[0]["y"]) == 12  # type: ignore[call-overload]  # numbers
    clauses = drawn(visit.open("coverage"))
    assert sum(sum(trace["y"]) for trace in clauses) == 3  # type: ignore[call-overload]  # numbers
    (sent,) = drawn(visit.open("campaigns"))
    assert sent["y"] == [100_000]
    (mutated,) = drawn(visit.page, 2)
    assert (mutated["x"], mutated["y"]) == (["off-by-one"], ["PUB_EXT · size"])


def test_what_changed_is_shown_by_protocol(visit: Visit) -> None:
    page = visit.open("versions")
    page.get_by_label("Protocol").last.select_option("oms")

    assert [(bars["name"], bars["y"]) for bars in drawn(page, 1)] == [("regressed", [1])]


def _decades() -> list[str]:
    small = [f"{digit * 10**power} µs" for power in range(3) for digit in range(1, 10)]
    return [*small, "1 ms", "2 ms", "3 ms"]


def test_text_of_the_data_is_never_markup(visit: Visit) -> None:
    for name in sorted(set(SHOWN.values())):
        page = visit.open(name)
        page.wait_for_load_state()
        assert page.locator("img").count() == 0, name
        assert page.locator("main b").count() == 0, name
        assert page.title() != "1"


def test_light_and_dark_by_the_system_and_by_choice(visit: Visit) -> None:
    page = visit.page

    def ground() -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    page.emulate_media(color_scheme="dark")
    visit.open("flakes")
    dark = ground()
    page.get_by_role("button", name="Light colours").click()
    light = ground()
    assert light != dark
    visit.open("causes")
    assert ground() == light


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_both_schemes(visit: Visit, scheme: str) -> None:
    visit.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # one of its words
    page = visit.open("matrix")
    found = contrast(
        page, "button.cell, .legend li, th code, .level, .help, .count, nav a, td.word"
    )

    assert len(found) > 20
    assert min(found) >= 4.5


def test_the_first_tab_skips_to_the_content(visit: Visit) -> None:
    page = visit.open("index")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_the_first_page_leads_to_all_others(visit: Visit) -> None:
    page = visit.open("index")
    links = {str(link.get_attribute("href")) for link in page.locator(".cards h2 a").all()}

    assert links == {f"{name}.html" for name in set(SHOWN.values())}
    assert "9,848" in page.inner_text("main")


def test_a_narrow_window_scrolls_tables_and_not_the_page(visit: Visit) -> None:
    visit.page.set_viewport_size({"width": 380, "height": 800})
    for name in ("matrix", "causes", "index"):
        page = visit.open(name)
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, name
