import json
import os
import shutil
from pathlib import Path

import pytest
from bundle_fixture import case, write_bundle
from playwright.sync_api import Page
from waits import until

from wireproof_reports.render.allure import site
from wireproof_reports.render.allure.case_result import PAGE
from wireproof_reports.render.allure.generator import Generator, NoAllure, find_generator
from wireproof_reports.render.allure.site import SiteFault, remove_calls, write_site

pytestmark = [pytest.mark.process, pytest.mark.long]

TOOLS = Path(__file__).resolve().parents[4] / ".cache" / "tools"
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")

CALLING = """<!DOCTYPE html><html><head>
    <meta charset="utf-8"><title>x</title>
    <script>window.allureReportOptions = {"gtag": 1}</script>
    <script   src="app.js"></script>
    <script async src="https://tags.example/gtag/js?id=G-1"></script>
    <script>
      window.dataLayer = window.dataLayer || [];
      function gtag(){dataLayer.push(arguments);}
      gtag('js', new Date());
    </script>
    <script async>data()</script></head><body></body></html>"""

FAKE = """#!/bin/sh
if [ "$1" = --version ]; then echo "{version}"; exit {code}; fi
echo "$@" >> "$0.said"
echo "no analytics: $ALLURE_NO_ANALYTICS" >> "$0.said"
while [ $# -gt 0 ]; do
  case $1 in --output) made=$2 ;; --history-path) echo one >> "$2" ;; esac
  shift
done
mkdir -p "$made/history"
echo '<html><head></head><script src="https://x.example/y"></script></html>' > "$made/index.html"
exit {ends}
"""


def fake(folder: Path, version: str, *, code: int = 0, ends: int = 0) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    command = folder / "allure"
    command.write_text(FAKE.format(version=version, code=code, ends=ends))
    command.chmod(0o755)
    return command


def use(monkeypatch: pytest.MonkeyPatch, command: Path) -> None:
    monkeypatch.chdir(command.parent)
    monkeypatch.delenv("ALLURE_HOME", raising=False)
    monkeypatch.setenv("PATH", f"{command.parent}:{os.environ['PATH']}")


def test_what_calls_another_machine_is_taken_out() -> None:
    page = remove_calls(CALLING)

    assert "tags.example" not in page
    assert "gtag(" not in page
    assert '<script   src="app.js"></script>' in page
    assert "allureReportOptions" in page
    assert "<script async>data()</script>" in page
    assert page.index("Content-Security-Policy") < page.index("<script")
    assert remove_calls(page).count("app.js") == 1


@pytest.mark.parametrize(("version", "major"), [("3.18.0", 3), ("2.46.1", 2)])
def test_the_version_is_asked(tmp_path: Path, version: str, major: int) -> None:
    command = fake(tmp_path / "bin", version)
    found = find_generator({"PATH": str(command.parent)})

    assert found == Generator(str(command), version)
    assert found.major == major


def test_the_users_own_comes_first_then_that_on_the_path(tmp_path: Path) -> None:
    machine = fake(tmp_path / "machine", "2.1.0")
    home = fake(tmp_path / "home" / "bin", "2.2.0")
    environment = {"PATH": str(machine.parent)}

    assert find_generator(environment).command == str(machine)
    environment["ALLURE_HOME"] = str(home.parent.parent)
    assert find_generator(environment).command == str(home)


def test_one_that_only_lies_in_the_folder_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(tmp_path / "node_modules" / ".bin", "3.1.0")
    monkeypatch.chdir(tmp_path)

    with pytest.raises(NoAllure, match="no Allure was found"):
        find_generator({"PATH": str(tmp_path)})


def test_one_that_does_not_work_is_passed_over_or_named(tmp_path: Path) -> None:
    broken = fake(tmp_path / "broken" / "bin", "JAVA_HOME is not set", code=1)
    environment = {"ALLURE_HOME": str(broken.parent.parent), "PATH": str(tmp_path)}
    with pytest.raises(NoAllure, match=r"does not work \(JAVA_HOME is not set\); install Allure"):
        find_generator(environment)

    works = fake(tmp_path / "machine", "3.1.0")
    environment["PATH"] = str(works.parent)
    assert find_generator(environment).command == str(works)


def test_none_at_all(tmp_path: Path) -> None:
    with pytest.raises(NoAllure, match="no Allure was found; install Allure 3 with"):
        find_generator({"PATH": str(tmp_path)})


@pytest.mark.parametrize("version", ["3.18.0", "2.46.1"])
def test_a_site_is_silent_and_has_the_page_of_its_clauses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    command = fake(tmp_path / "bin", version)
    use(monkeypatch, command)
    write_site(write_bundle(tmp_path / "b.jsonl"), tmp_path / "site")

    page = (tmp_path / "site" / "index.html").read_text()
    assert "x.example" not in page
    assert "Content-Security-Policy" in page
    assert (tmp_path / "site" / PAGE).exists()
    said = (tmp_path / "bin" / "allure.said").read_text()
    assert "--single-file" in said
    assert "no analytics: true" in said


def test_a_second_site_replaces_the_first_and_keeps_its_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, fake(tmp_path / "bin", "3.18.0"))
    bundle = write_bundle(tmp_path / "b.jsonl")
    write_site(bundle, tmp_path / "site")
    (tmp_path / "site" / "old.js").write_text("old")
    write_site(bundle, tmp_path / "site")

    assert not (tmp_path / "site" / "old.js").exists()
    assert (tmp_path / "site" / "history.jsonl").read_text() == "one\none\n"


def test_many_results_do_not_go_into_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, fake(tmp_path / "bin", "3.18.0"))
    monkeypatch.setattr(site, "MOST_IN_ONE_FILE", 1)
    write_site(write_bundle(tmp_path / "b.jsonl"), tmp_path / "site")

    assert "--single-file" not in (tmp_path / "bin" / "allure.said").read_text()


def test_an_allure_that_fails_is_told_and_nothing_is_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, fake(tmp_path / "bin", "3.18.0", ends=7))
    with pytest.raises(SiteFault, match="ended with 7"):
        write_site(write_bundle(tmp_path / "b.jsonl"), tmp_path / "site")

    assert not (tmp_path / "site").exists()


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("mine")
    with pytest.raises(SiteFault, match="holds something else than an Allure site"):
        write_site(write_bundle(tmp_path / "b.jsonl"), tmp_path / "thesis")

    assert (tmp_path / "thesis" / "chapter.tex").read_text() == "mine"


def brought(name: str) -> Path:
    return TOOLS / name / "node_modules" / ".bin" / "allure"


@pytest.mark.parametrize("name", ["allure3", "allure2"])
def test_a_real_site_calls_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    if not brought(name).exists():
        pytest.skip(f"{name} is not there: its site was not built; `make test-allure` brings it")
    use(monkeypatch, brought(name))
    records = [case("publish/x", "ext.publish.accept", "A right frame", "ok,open")]
    write_site(write_bundle(tmp_path / "b.jsonl", records), tmp_path / "site")
    write_site(write_bundle(tmp_path / "b.jsonl", records), tmp_path / "site")

    page = (tmp_path / "site" / "index.html").read_text("utf-8")
    assert "googletagmanager" not in page
    if CHROMIUM is None:
        pytest.skip(f"no Chromium on this machine: the site of {name} was not opened")
    asked, text = opened(tmp_path / "site" / "index.html", CHROMIUM)
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert "nsq" in text


def opened(page: Path, chromium: str) -> tuple[list[str], str]:
    """Open a page; return what it asked for, and its text."""
    from site_visit import open_browser

    asked: list[str] = []
    with open_browser(chromium) as tab:
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(page.as_uri())
        # Not Playwright's own wait, which polls in the page: to the watchdog that is never quiet.
        text = until(lambda: shows(tab, "nsq"), "text with 'nsq' in the page")
    return asked, text


def shows(page: Page, wanted: str) -> str:
    """Return the text of a page if it has what is wanted."""
    text = page.inner_text("body")
    print(text)  # what it shows instead is for the report of a failure
    return text if wanted in text else ""


def test_history_of_the_second_site_has_both_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not brought("allure3").exists():
        pytest.skip("allure3 is not there: its site was not built; `make test-allure` brings it")
    use(monkeypatch, brought("allure3"))
    first = case("publish/x", "ext.publish.accept", "t", "ok,open")
    write_site(write_bundle(tmp_path / "a.jsonl", [first]), tmp_path / "site")
    write_site(write_bundle(tmp_path / "b.jsonl", [first]), tmp_path / "site")

    lines = (tmp_path / "site" / "history.jsonl").read_text("utf-8").splitlines()
    tests = [set(json.loads(line)["testResults"]) for line in lines]
    assert len(tests) == 2
    assert tests[0] == tests[1] != set()
