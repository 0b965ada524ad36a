"""Build the documentation as a static site with search in out/site: `make site`.

The pages are those of docs/, README.md as the start page, and generated ones: clauses, commands,
words of observations, schemas and the interface for programs. A link to a page, file or anchor
that does not exist is an error with file and line, as is a script, style sheet or font from
another host: the site works without network.
"""

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import clauses  # beside this file, as are the others
import commands
import observations
import peers
import programs
import schemas
from links import broken
from page import Page
from stage import FILES, sources, stage

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "out"
PAGES, SITE = "site-pages", "site"
HERE = Path(__file__).parent
GENERATED = (clauses, commands, observations, peers, programs, schemas)
FOREIGN = re.compile(
    r"<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)=[\"']?(?:https?:)?//[^>]*>"
    r"|url\([\"']?(?:https?:)?//[^)]*\)|@import[^;]*//[^;]*"
)
Nav = list[Any]


def main() -> int:
    faults = build(OUT)
    for fault in faults:
        print(fault, file=sys.stderr)
    if not faults:
        print(f"written: {(OUT / SITE / 'index.html').relative_to(ROOT)}")
    return 1 if faults else 0


def build(out: Path) -> list[str]:
    """Write pages and site into a folder; return what is wrong, a line each."""
    pages = out / PAGES
    if faults := [*link_faults(sources())]:
        return faults
    write_pages(pages)
    if faults := [*link_faults(sorted(pages.rglob("*.md"))), *unlisted(pages)]:
        return faults
    config = out / "zensical.toml"
    config.write_text(configure(pages), "utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "-f", str(config)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if built.returncode:
        return [*built.stdout.splitlines(), *built.stderr.splitlines()]
    return [*foreign_faults(out / SITE)]


def link_faults(pages: Iterable[Path]) -> Iterator[str]:
    """Yield a line for each broken link, with file and line."""
    for file, line, fault in broken(pages):
        yield f"{_name(file)}:{line}: {fault}"


def write_pages(pages: Path) -> None:
    """Write all pages of the site, copied and generated, into a folder that is made anew."""
    stage(pages)
    shutil.copy(HERE / "site.css", pages)
    for path, text in (*((made.path, made.text) for made in generate()), *schemas.files().items()):
        file = pages / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")


def generate() -> Iterator[Page]:
    """Yield every generated page."""
    for module in GENERATED:
        yield from module.pages()


def unlisted(pages: Path) -> Iterator[str]:
    """Yield a line for each page that the navigation lacks."""
    listed = set(_paths(navigation(pages)))
    for file in sorted(pages.rglob("*.md")):
        path = file.relative_to(pages).as_posix()
        if path not in listed and not path.startswith(f"{FILES}/"):
            yield f"tools/docs_site/zensical.toml: the navigation has no page {path}"


def navigation(pages: Path) -> Nav:
    """Return the navigation with its patterns replaced by the pages they match."""
    config = tomllib.loads((HERE / "zensical.toml").read_text("utf-8"))
    return _expand(config["project"]["nav"], pages, set(_paths(config["project"]["nav"])))


def _expand(entries: Nav, pages: Path, named: set[str]) -> Nav:
    found: Nav = []
    for entry in entries:
        if isinstance(entry, dict):
            ((title, inner),) = entry.items()
            below = _expand(inner, pages, named) if isinstance(inner, list) else inner
            found.append({title: below})
        elif "*" in entry:
            files = sorted(path.relative_to(pages).as_posix() for path in pages.glob(entry))
            found += [_titled(pages, path) for path in files if path not in named]
        else:
            found.append(_titled(pages, entry))
    return found


def _titled(pages: Path, path: str) -> dict[str, str]:
    return {Page(path, (pages / path).read_text("utf-8")).title: path}


def _paths(entries: Nav) -> Iterator[str]:
    for entry in entries:
        inner = next(iter(entry.values())) if isinstance(entry, dict) else entry
        yield from _paths(inner) if isinstance(inner, list) else (inner,)


def configure(pages: Path) -> str:
    """Return the configuration with the navigation expanded and the folders named."""
    text = (HERE / "zensical.toml").read_text("utf-8")
    head, _, rest = text.partition("nav = [")
    _, _, tail = rest.partition("\n]\n")
    nav = f'docs_dir = "{PAGES}"\nsite_dir = "{SITE}"\nnav = {_toml(navigation(pages))}\n'
    return f"{head}{nav}{tail}"


def _toml(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_toml(each) for each in value)}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{_toml(k)} = {_toml(v)}' for k, v in value.items())} }}"
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def foreign_faults(site: Path) -> Iterator[str]:
    """Yield a line for each script, style, font or picture that another host would serve."""
    for file in sorted([*site.rglob("*.html"), *site.rglob("*.css")]):
        for found in FOREIGN.finditer(file.read_text("utf-8")):
            yield f"{_name(file)}: {found[0][:120]} comes from another host"


def _name(file: Path) -> Path:
    return file.relative_to(ROOT) if file.is_relative_to(ROOT) else file


if __name__ == "__main__":
    sys.exit(main())
