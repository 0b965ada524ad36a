"""One page of a site in a browser, with all that it asked for and all that went wrong in it."""

from pathlib import Path

from playwright.sync_api import Browser, Page

CELLS = """
shown => [...shown.querySelectorAll("tbody tr")].map(
    row => [...row.querySelectorAll("td")].map(cell => cell.innerText)
)
"""


class Visit:
    """A page, what it asked for, and what went wrong in it."""

    def __init__(self, browser: Browser, folder: Path) -> None:
        self.folder = folder
        self.page: Page = browser.new_page(viewport={"width": 1300, "height": 900})
        self.asked: list[str] = []
        self.wrong: list[str] = []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", lambda said: self.wrong.append(said.text))

    def open(self, name: str, place: str = "") -> Page:
        self.page.goto("about:blank")
        self.page.goto(f"{(self.folder / name).as_uri()}.html{place}")
        return self.page


def table(page: Page, name: str) -> list[list[str]]:
    """Return a table's texts, cell by cell, read in one go."""
    read: list[list[str]] = page.locator(f"#{name}").evaluate(CELLS)
    return read
