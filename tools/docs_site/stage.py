"""Copies the pages written by hand into the folder of all pages, and moves their links."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from links import ELSEWHERE, relocate
from page import Page, code, page

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
MOVED = {
    ROOT / "README.md": "index.md",
    ROOT / "CONTRIBUTING.md": "contributing.md",
    ROOT / "CHANGELOG.md": "changelog.md",
    DOCS: "index.md",
    DOCS / "peers": "peers/index.md",
    DOCS / "decisions": "decisions/README.md",
}
"""Files and folders that have another place in the site than in docs/."""
FILES = "files"
"""Where files and folders of the repository are that pages link to."""


def sources() -> dict[Path, str]:
    """Return the pages written by hand, and their paths in the site."""
    outside = {file: target for file, target in MOVED.items() if file.is_file()}
    own = {file: file.relative_to(DOCS).as_posix() for file in sorted(DOCS.rglob("*.md"))}
    return outside | own


def stage(folder: Path) -> None:
    """Copy docs/, the pages beside it, and what they link to, into a folder that is made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(DOCS, folder)
    linked: set[Path] = set()
    for source, target in sources().items():
        text = relocate(
            source.read_text("utf-8"),
            lambda link, source=source, target=target: _moved(link, source, target, linked),
        )
        (folder / target).write_text(text, "utf-8")
    for path in sorted(linked):
        place = folder / FILES / path.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file():
            shutil.copy(path, place)
        else:
            place.mkdir(exist_ok=True)
            listing = _listing(path)
            (folder / listing.path).write_text(listing.text, "utf-8")


def _moved(link: str, source: Path, target: str, linked: set[Path]) -> str:
    """Return a link of a source as it is from the page's place in the site."""
    name, mark, anchor = link.partition("#")
    if ELSEWHERE.match(link) or not name:
        return link
    aim = (source.parent / name).resolve()
    if aim in MOVED:
        place = MOVED[aim]
    elif aim.is_relative_to(DOCS):
        place = aim.relative_to(DOCS).as_posix()
    else:
        linked.add(aim)
        place = f"{FILES}/{aim.relative_to(ROOT).as_posix()}{'/index.md' * aim.is_dir()}"
    return f"{os.path.relpath(place, Path(target).parent)}{mark}{anchor}"


def _listing(path: Path) -> Page:
    """Return a page that shows the files of a folder of the repository."""
    name = path.relative_to(ROOT).as_posix()
    return page(f"{FILES}/{name}/index.md", _files(name, path))


def _files(name: str, path: Path) -> Iterator[str]:
    yield f"# Files of {code(name)}"
    for file in sorted(each for each in path.iterdir() if each.is_file()):
        yield from ("", f"## {file.name}", "", "````", file.read_text("utf-8").rstrip(), "````")
