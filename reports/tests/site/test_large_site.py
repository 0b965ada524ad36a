"""A site of a whole fleet in Chromium: 12 vendors, 8 versions each, 400 clauses."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from large_fleet import (
    CLAUSES,
    SECOND,
    SECOND_VENDORS,
    SECOND_VERSIONS,
    VENDORS,
    VERSIONS,
    VIOLATED,
    large_fleet,
    law_of,
    write_site,
)
from playwright.sync_api import Page
from site_visit import Visit, open_browser, table

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
WIDTHS = (390, 1280, 1920)
DRAWN = ("flakes", "versions", "durations", "coverage", "causes", "campaigns")
SHARED_LOOKS = """plot => document.querySelectorAll('.plot')[plot].data
    .filter(trace => trace.showlegend !== false)
    .map(({ marker, line, type }) => JSON.stringify([marker.color,
        ...(type === 'bar' ? [marker.pattern.shape, marker.line.width] : [marker.symbol]),
        line ? line.dash : '']))"""
"""JavaScript: what tells the series of a picture from each other, one text for each."""
GROUP = "ext.publish"

pytestmark = [
    pytest.mark.process,
    pytest.mark.long,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with open_browser(CHROMIUM) as page:
        yield page


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large") / "site"
    write_site(folder, large_fleet())
    return folder


@pytest.fixture
def visit(page: Page, site: Path) -> Iterator[Visit]:
    visit = Visit(page, site)
    yield visit
    visit.close()
    assert visit.wrong == []


def number(page: Page, script: str) -> float:
    found: float = page.evaluate(script)
    return found


@pytest.mark.parametrize("width", WIDTHS)
def test_the_matrix_begins_with_groups_whose_heads_stay_in_sight(visit: Visit, width: int) -> None:
    visit.page.set_viewport_size({"width": width, "height": 900})
    page = visit.open("matrix")

    assert page.locator(".count").first.inner_text() == (
        f"{CLAUSES} of {CLAUSES} clauses, {len(VENDORS) * len(VERSIONS)} targets"
    )
    assert page.locator("thead th.vendor").all_inner_texts() == sorted(VENDORS)
    assert page.locator("button.cell").count() == 0
    assert page.locator(".matrix tr.folded span.cell.fails").count() > 100
    assert number(page, "document.documentElement.scrollWidth - innerWidth") <= 0

    page.locator("button.fold", has_text=GROUP).first.click()
    page.evaluate("document.querySelector('.matrix').scrollTo(1500, 900)")
    for selector, side in ((".matrix thead", "top"), (".matrix tbody th[scope=row]", "left")):
        apart = (
            f"document.querySelector('{selector}').getBoundingClientRect().{side} - "
            f"document.querySelector('.matrix').getBoundingClientRect().{side}"
        )
        assert abs(number(page, apart)) <= 2, selector
    assert "fold=" in page.url


@pytest.mark.parametrize("width", WIDTHS)
def test_names_of_vendors_and_versions_are_not_cut(visit: Visit, width: int) -> None:
    visit.page.set_viewport_size({"width": width, "height": 900})
    page = visit.open("matrix")
    cut = """() => [...document.querySelectorAll('.matrix thead th')]
        .filter(head => head.scrollWidth > head.clientWidth + 1)
        .map(head => head.innerText)"""
    assert page.evaluate(cut) == []


@pytest.mark.parametrize("vendor", ["", "acme-messaging-gateway"])
def test_all_columns_of_the_deviations_are_in_sight(visit: Visit, vendor: str) -> None:
    visit.page.set_viewport_size({"width": 1280, "height": 900})
    page = visit.open("deviations", f"#deviations.find={vendor}")

    assert page.locator("#deviations tbody tr").count() > 50
    hidden = "(box => box.scrollWidth - box.clientWidth)(document.querySelector('.scroll'))"
    assert number(page, hidden) <= 0


@pytest.mark.parametrize("width", WIDTHS)
def test_groups_fold_and_unfold_all_together(visit: Visit, width: int) -> None:
    visit.page.set_viewport_size({"width": width, "height": 900})
    page = visit.open("matrix", "#vendor=tidal")
    assert page.locator("button.cell").count() == CLAUSES * len(VERSIONS)
    page.get_by_role("button", name="Fold all groups").click()
    assert page.locator("button.cell").count() == 0
    page.get_by_role("button", name="Unfold all groups").click()
    assert page.locator("button.cell").count() == CLAUSES * len(VERSIONS)


def offered(page: Page, label: str) -> list[str]:
    texts: list[str] = page.get_by_label(label).locator("option").all_inner_texts()
    return texts[1:]


def shown(page: Page) -> tuple[list[str], set[str], int]:
    """Return the matrix's vendors, the levels beside its clauses, and how many clauses it has."""
    names = page.locator(".matrix tbody th[scope=row]").all_inner_texts()
    vendors = page.locator("thead th.vendor").all_inner_texts()
    return vendors, {name.split()[-1] for name in names}, len(names)


@pytest.mark.parametrize("width", WIDTHS)
def test_protocol_vendor_and_level_leave_what_was_chosen(visit: Visit, width: int) -> None:
    visit.page.set_viewport_size({"width": width, "height": 900})
    page = visit.open("matrix")
    assert offered(page, "Vendor") == sorted(VENDORS)

    page.get_by_label("Protocol").select_option(SECOND)
    law = law_of(SECOND)
    levels = {level for _, _, level, _, _ in law}
    assert shown(page) == (list(SECOND_VENDORS), levels, len(law))
    assert page.locator("button.cell").count() == len(law) * 2 * len(SECOND_VERSIONS)
    assert offered(page, "Vendor") == list(SECOND_VENDORS)
    assert set(offered(page, "Level")) == levels

    page.get_by_label("Vendor").select_option("rocket")
    page.get_by_label("Level").select_option("should")
    shoulds = [name for name, _, level, _, _ in law if level == "should"]
    assert shown(page) == (["rocket"], {"should"}, len(shoulds))
    told = f"{len(shoulds)} of {len(shoulds)} clauses, {len(SECOND_VERSIONS)} targets"
    assert page.locator(".picture .count").inner_text() == told
    assert number(page, "document.documentElement.scrollWidth - innerWidth") <= 0

    page.get_by_label("Protocol").select_option("nsq")  # whose vendors are others
    assert page.locator("thead th.vendor").all_inner_texts() == sorted(VENDORS)


def test_in_a_narrow_window_names_of_clauses_break_after_their_dots(visit: Visit) -> None:
    visit.page.set_viewport_size({"width": 390, "height": 900})
    page = visit.open("matrix", "#vendor=tidal&find=ext.publish.accept")
    lines = """() => {
        const name = document.querySelector('.matrix tbody th[scope=row] code');
        const part = [...name.childNodes].filter(node => node.data).at(-1);
        const range = document.createRange();
        range.selectNodeContents(part);
        return [part.data, range.getClientRects().length];
    }"""

    assert page.evaluate(lines) == ["accept", 1]


def test_what_is_chosen_above_a_picture_has_its_own_label(visit: Visit) -> None:
    for name in ("versions", "durations"):
        page = visit.open(name)
        page.wait_for_selector(".plot .main-svg")
        ids = page.evaluate("[...document.querySelectorAll('select')].map(each => each.id)")
        assert len(ids) == len(set(ids)) > 3
        assert page.get_by_label("Vendor").count() == 2


@pytest.mark.parametrize(
    ("clause", "command"),
    [
        ("ext.publish", "wireproof replay {case} --bundle {path}"),
        ("smart.client-connection", "wireproof client --protocol nsq --exec CMD {case}"),
    ],
)
def test_a_cell_says_what_the_last_run_came_to_and_how_to_see_it_again(
    visit: Visit, clause: str, command: str
) -> None:
    page = visit.open("matrix", f"#vendor=tidal&only=fails&find={clause}")
    page.locator("button.cell.fails").first.click()
    facts = page.locator(".detail .evidence").inner_text().splitlines()

    case = facts[facts.index("Case") + 1]
    path = facts[facts.index("Bundle") + 1]
    again = facts[facts.index("See it again") + 1]
    assert again == command.format(case=case, path=path)
    assert "/" not in path
    assert not page.locator(".detail .evidence a[href]").count()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", DRAWN)
def test_labels_of_pictures_are_whole(visit: Visit, name: str, width: int) -> None:
    visit.page.set_viewport_size({"width": width, "height": 900})
    page = visit.open(name)
    page.wait_for_selector(".plot .main-svg")
    cut = """() => [...document.querySelectorAll('.plot')].flatMap(plot => {
        const room = plot.getBoundingClientRect();
        return [...plot.querySelectorAll('.xtick text, .ytick text, .legendtext')]
            .map(text => [text.textContent, text.getBoundingClientRect()])
            .filter(([, box]) => box.left < room.left - 2 || box.right > room.right + 2
                || box.bottom > room.bottom + 2)
            .map(([text]) => text);
    })"""
    covered = """() => [...document.querySelectorAll('.plot')].filter(plot => {
        const legend = plot.querySelector('.legend');
        if (!legend) return false;
        const box = legend.getBoundingClientRect();
        return [...plot.querySelectorAll('.xtick text')].some(
            text => text.getBoundingClientRect().top < box.bottom - 2
                && text.getBoundingClientRect().bottom > box.top + 2);
    }).length"""

    assert page.evaluate(cut) == []
    assert page.evaluate(covered) == 0
    assert number(page, "document.documentElement.scrollWidth - innerWidth") <= 0


@pytest.mark.parametrize("name", ["causes", "flakes"])
def test_in_a_narrow_window_bars_stay_in_sight_beside_their_labels(
    visit: Visit, name: str
) -> None:
    visit.page.set_viewport_size({"width": 390, "height": 900})
    page = visit.open(name)
    page.wait_for_selector(".plot .main-svg")
    marks = """() => {
        const room = document.querySelector('.wide').getBoundingClientRect();
        return [...document.querySelectorAll('.plot .point')]
            .map(mark => mark.getBoundingClientRect().left < room.right - 4);
    }"""

    assert page.evaluate(marks) == [True] * 40


@pytest.mark.parametrize(
    ("name", "plot"), [("versions", 0), ("durations", 0), ("durations", 1), ("campaigns", 1)]
)
def test_more_series_than_colours_are_told_apart(visit: Visit, name: str, plot: int) -> None:
    page = visit.open(name, "#vendor=*")
    page.wait_for_selector(".plot .main-svg")
    looks = page.evaluate(SHARED_LOOKS, plot)

    assert len(looks) == (len(VIOLATED) if name == "campaigns" else len(VENDORS) * len(VERSIONS))
    assert len(set(looks)) == len(looks)


@pytest.mark.parametrize("name", ["versions", "durations"])
def test_a_picture_offers_the_vendors_of_its_protocol(visit: Visit, name: str) -> None:
    page = visit.open(name, f"#protocol={SECOND}")
    page.wait_for_selector(".plot .main-svg")
    vendor = page.locator(".plot").first.locator("xpath=../preceding-sibling::div[1]")
    told = vendor.get_by_label("Vendor").locator("option").all_inner_texts()

    assert told == ["all", *SECOND_VENDORS]
    page.get_by_label("Protocol").first.select_option("nsq")
    told = vendor.get_by_label("Vendor").locator("option").all_inner_texts()
    assert told == [*sorted(VENDORS), "all"]


def test_clauses_by_role_and_origin_have_a_page(visit: Visit) -> None:
    page = visit.open("roles")

    assert page.locator("table tbody tr").count() > len(VENDORS)
    assert {"judged as", "role", "origin"} <= {text.strip() for text in heads(page)}
    assert {(row[0], row[3]) for row in table(page, "roles")} == {("nsq", "broker")}
    page.get_by_label("Filter").fill(SECOND)
    assert {(row[0], row[3]) for row in table(page, "roles")} == {(SECOND, "adapter")}


def heads(page: Page) -> list[str]:
    texts: list[str] = page.locator("table thead th").all_inner_texts()
    return texts
