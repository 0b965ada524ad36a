"""Take the pictures of README.md and docs/history.md anew, from real runs: `make pictures`.

    python tools/pictures.py [report] [site]

docs/report.png is the report of a run against the NSQ reference. docs/site.png is the matrix of
the recorded peers in docs/peers, analysed by Spark. Both are taken in Chromium, in light colours.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import ViewportSize, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
WIREPROOF = str(ROOT / ".venv" / "bin" / "wireproof")
WIDTH = 1280


def main(arguments: list[str]) -> int:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        print("Chromium is missing; `python3 tools/browser.py` installs it", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as name:
        for picture in arguments or PICTURES:
            PICTURES[picture](chromium, Path(name))
    return 0


def take_report(chromium: str, folder: Path) -> None:
    page = folder / "report.html"
    # Patience as in the sample of a whole run: the machine may be busy.
    options = ("--timeout", "3", "--failures-only", "--bundle", str(folder / "run.jsonl"))
    call("run", "--reference", "nsq", *options, "--html", str(page))
    take(chromium, page.as_uri(), DOCS / "report.png", 1250)


def take_site(chromium: str, folder: Path) -> None:
    call("aggregate", str(DOCS / "peers"), "--out", str(folder / "site"))
    address = f"{(folder / 'site' / 'matrix.html').as_uri()}#protocol=nsq"
    take(chromium, address, DOCS / "site.png", 1000)


def call(*arguments: str) -> None:
    subprocess.run([WIREPROOF, *arguments], check=True)


def take(chromium: str, address: str, picture: Path, height: int) -> None:
    """Write a picture of the top of a page."""
    size: ViewportSize = {"width": WIDTH, "height": height}
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page(viewport=size, color_scheme="light")
        tab.goto(address)
        tab.wait_for_load_state("networkidle")
        tab.screenshot(path=picture)
        browser.close()


PICTURES = {"report": take_report, "site": take_site}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
