"""The site of the documentation: no broken link, a place for everything, and no other host."""

import importlib
import re
import shutil
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import ModuleType

import pytest
from playwright.sync_api import sync_playwright

import wireproof
from wireproof.commands.table import COMMANDS
from wireproof_kit.bundle.file import Bundle, read_bundle
from wireproof_kit.protocols import known_protocols
from wireproof_kit.runner.collect import collect
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.clauses.observations import load_observations

ROOT = Path(__file__).resolve().parents[3]
TOOL = ROOT / "tools" / "docs_site"
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
PAGES = (
    "",
    "reference/clauses/nsq/ext.publish/",
    "reference/commands/run/",
    "reference/observations/nsq/",
    "verdicts/",
)

pytestmark = pytest.mark.long


def import_tool(name: str) -> Iterator[ModuleType]:
    """Import a module of the tool, which belongs to no package, and forget all of them after."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(TOOL))
        yield importlib.import_module(name)
    for file in TOOL.glob("*.py"):
        sys.modules.pop(file.stem, None)


@pytest.fixture(scope="module")
def run() -> Iterator[ModuleType]:
    yield from import_tool("run")


@pytest.fixture(scope="module")
def links(run: ModuleType) -> ModuleType:
    return sys.modules[run.broken.__module__]


@pytest.fixture(scope="module")
def pages(run: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "pages"
    run.write_pages(folder)
    return folder


def test_pages_written_by_hand_have_no_broken_link(run: ModuleType) -> None:
    assert [*run.link_faults(run.sources())] == []


@pytest.mark.slow
def test_all_pages_of_the_site_have_no_broken_link_and_are_in_the_navigation(
    run: ModuleType, pages: Path
) -> None:
    assert [*run.link_faults(sorted(pages.rglob("*.md")))] == []
    assert [*run.unlisted(pages)] == []


@pytest.mark.slow
def test_every_clause_and_case_has_its_place(links: ModuleType, pages: Path) -> None:
    for protocol in known_protocols():
        folder = pages / "reference" / "clauses" / protocol
        text = "".join(file.read_text("utf-8") for file in sorted(folder.glob("*.md")))
        for clause in load_catalogue(protocol).clauses():
            assert clause.id in links.anchors(folder / f"{clause.group}.md")
        missing = {case.id for case in collect(protocol)} - {*re.findall(r"`([^`]+)`", text)}
        assert missing == set()


@pytest.mark.slow
def test_every_command_and_word_has_its_place(pages: Path) -> None:
    for command in COMMANDS:
        text = (pages / "reference" / "commands" / f"{command}.md").read_text("utf-8")
        assert "Exit codes" in text
    for protocol in known_protocols():
        text = (pages / "reference" / "observations" / f"{protocol}.md").read_text("utf-8")
        told = load_observations(protocol)
        for word in (*told.words, *(word for table in told.within.values() for word in table)):
            assert f"| `{word}` |" in text


def test_the_interface_for_programs_shows_signatures_and_docstrings(
    run: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wireproof, "__all__", ["judge", "Bundle"], raising=False)
    monkeypatch.setattr(wireproof, "judge", read_bundle, raising=False)
    monkeypatch.setattr(wireproof, "Bundle", Bundle, raising=False)

    (page,) = run.programs.pages()

    assert "## judge {#judge}" in page.text
    assert "judge(path: pathlib.Path) -> wireproof_kit.bundle.file.Bundle" in page.text
    assert "no bundle, or of a newer format." in page.text
    assert "### Bundle.why_empty {#Bundle.why_empty}" in page.text


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("# A\n\n[one](missing.md)\n", 3),
        ("# A\n\n\n[one\ntwo](missing.md)\n", 5),
        ("# A\n[here](#b)\n", 2),
        ("# A\n[there](there.md#nowhere)\n", 2),
        ("# A\n\n![picture](missing.png)\n", 3),
        ("# A\n\n[one]\n\n[one]: missing.md\n", 5),
        ('# A\n\n<a href="missing.md">one</a>\n', 3),
    ],
)
def test_a_broken_link_is_found_with_its_line(
    links: ModuleType, tmp_path: Path, text: str, line: int
) -> None:
    page = tmp_path / "page.md"
    page.write_text(text, "utf-8")
    (tmp_path / "there.md").write_text("# There\n", "utf-8")

    assert [(file, at) for file, at, _ in links.broken([page])] == [(page, line)]


def test_links_to_headings_files_and_hosts_and_those_in_code_are_not_broken(
    links: ModuleType, tmp_path: Path
) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A `b` and [c](page.md): d\n\n## given {#by.hand}\n\n"
        "[a](#a-b-and-c-d) [b](page.md#by.hand) [c](page.md) [d](https://example.org/x#y)\n"
        "`[e](missing.md)`\n\n```\n[f](missing.md)\n```\n\n<!-- [g](missing.md) -->\n",
        "utf-8",
    )

    assert [*links.broken([page])] == []


def test_a_script_a_style_or_a_font_of_another_host_is_found(
    run: ModuleType, tmp_path: Path
) -> None:
    (tmp_path / "a.html").write_text(
        '<a href="https://example.org/">fine</a><script src="https://example.org/a.js"></script>'
        '<link rel="preconnect" href="//example.org">',
        "utf-8",
    )
    (tmp_path / "a.css").write_text("@font-face{src:url(https://example.org/a.woff2)}", "utf-8")

    assert len([*run.foreign_faults(tmp_path)]) == 3


@pytest.fixture(scope="module")
def address(run: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    pytest.importorskip("zensical")
    out = tmp_path_factory.mktemp("out")
    assert run.build(out) == []
    handler = partial(SilentHandler, directory=str(out / run.SITE))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


class SilentHandler(SimpleHTTPRequestHandler):
    """A handler that logs nothing."""

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.mark.process
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("width", [390, 1280])
def test_the_site_fits_a_window_finds_a_clause_and_asks_no_other_host(
    address: str, width: int
) -> None:
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], timeout=0)
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.set_default_timeout(0)
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        for path in PAGES:
            page.goto(f"{address}{path}")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.wait_for_load_state("networkidle")  # the script that listens for the key has run
        page.keyboard.press("/")
        page.keyboard.type("ext.publish.trace-response")
        page.get_by_role("option", name="ext.publish.trace-response").first.wait_for()
        browser.close()
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []
