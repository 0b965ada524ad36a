"""Writes the pages of a site beside its data: from ``SITE/data`` to ``SITE/index.html``.

The data is also written to ``SITE/answers`` as scripts, because a page opened from a file may not
read other files.
"""

import json
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2

from wireproof_reports.render.clauses import source
from wireproof_reports.render.html import finalize
from wireproof_spec.clauses.catalogue import CLIENT
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.extras import install_command
from wireproof_spec.protocol import protocols
from wireproof_spec.strict_json import is_object


@dataclass(frozen=True, slots=True)
class PageOf:
    """A page of the site for some questions; ``picture`` names the chart above the tables.

    ``more`` are further questions whose answers the chart needs.
    """

    name: str
    title: str
    promise: str
    questions: tuple[str, ...]
    picture: str = ""
    more: tuple[str, ...] = ()


KNOWN = (
    PageOf(
        "matrix",
        "Matrix",
        "Which clauses each version of each vendor follows, with the evidence.",
        ("matrix", "evidence"),
        "matrix",
        ("causes",),
    ),
    PageOf(
        "versions",
        "Versions",
        "Levels reached over time; what one version broke and what it mended.",
        ("levels", "regressions"),
        "levels",
    ),
    PageOf(
        "flakes",
        "Flakes",
        "Cases that come out now one way, now the other, and how sure that is.",
        ("flaky", "flips"),
        "flaky",
    ),
    PageOf(
        "roles",
        "Roles and origins",
        "Clauses by part of the target, and by where they come from.",
        ("roles",),
    ),
    PageOf("causes", "Causes", "Root causes of failure by their reach.", ("causes",), "causes"),
    PageOf(
        "durations",
        "Durations",
        "How long cases take, and where that drifts.",
        ("durations",),
        "durations",
    ),
    PageOf(
        "coverage",
        "Coverage",
        "What was asserted of the law, and what of the grammar was ever sent.",
        ("coverage_clauses", "coverage_grammar"),
        "coverage",
    ),
    PageOf(
        "campaigns",
        "Campaigns",
        "What fuzzing found, once each, and what it covered.",
        ("findings", "campaigns"),
        "findings",
        ("coverage_grammar",),
    ),
    PageOf("deviations", "Deviations", "Known deviations about to expire.", ("deviations",), ""),
    PageOf(
        "separating",
        "Separating cases",
        "Cases that tell vendors apart, and those that never fail.",
        ("separating",),
    ),
)


def pages_for(questions: Iterable[tuple[str, str]]) -> Iterator[PageOf]:
    """Yield the site's pages for questions as (name, title); unknown ones get a page each."""
    asked = dict(questions)
    shown: set[str] = set()
    for page in KNOWN:
        own = tuple(name for name in page.questions if name in asked)
        if own:
            shown.update(own)
            more = tuple(name for name in page.more if name in asked)
            yield replace(page, questions=own, more=more)
    for name, title in asked.items():
        if name not in shown:
            yield PageOf(name, title, "", (name,))


DATA, ANSWERS, ASSETS = "data", "answers", "assets"
SCHEMA = 1
OWN_ASSETS = ("site.css", "table.js", "matrix.js", "plots.js")
PLOTLY = "plotly.min.js"
POLICY = (
    "default-src 'none'; script-src 'self' file:; style-src 'self' file: 'unsafe-inline'; "
    "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'"
)

Json = Mapping[str, Any]


class SiteFault(Exception):
    """Raised if the pages cannot be made from the data; ``str()`` is one sentence for the user."""


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """The entry of one question in the index of the answers: title, file, number of rows."""

    question: str
    title: str
    asks: str
    file: str
    rows: int
    total: int


def write(out: Path) -> Path:
    """Write all pages of a site from its ``data`` folder, and return the path of the first one.

    Raises:
        SiteFault: its data is missing, damaged, or written by a newer version.
        OSError: the pages cannot be written.
    """
    try:
        return _write(out)
    except (KeyError, TypeError, ValueError, jinja2.UndefinedError) as error:
        raise SiteFault(
            f"{out / DATA}: expected the files that `wireproof aggregate` writes, found damaged "
            f"data ({type(error).__name__}: {error}); write them again with "
            f"`wireproof aggregate HISTORY --out {out}`"
        ) from error


def _write(out: Path) -> Path:
    index = _read(out / DATA / "index.json")
    asked = [_read_entry(line) for line in index["questions"]]
    answers = {item.question: _read(out / DATA / item.file) for item in asked}
    scripts = out / ANSWERS
    shutil.rmtree(scripts, ignore_errors=True)
    scripts.mkdir()
    for name, answer in answers.items():
        _script(scripts / f"{name}.js", name, answer)
    _script(scripts / "law.js", "law", dict(_law(answers.values())))
    _assets(out / ASSETS)
    pages = list(pages_for((item.question, item.title) for item in asked))
    for page in pages:
        own = [item for item in asked if item.question in page.questions]
        _page(out / f"{page.name}.html", "page.html.jinja", page, pages, own, index)
    first = out / "index.html"
    _page(first, "index.html.jinja", None, pages, asked, index)
    return first


def _read(path: Path) -> Json:
    try:
        document: object = json.loads(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise SiteFault(f"{path} is missing; expected what `wireproof aggregate` wrote") from error
    except (OSError, ValueError) as error:
        raise SiteFault(f"{path} cannot be read: {error}") from error
    if not is_object(document) or "schema" not in document:
        raise SiteFault(f"{path}: expected a document with a schema, found something else")
    if document["schema"] != SCHEMA:
        raise SiteFault(
            f"{path} has schema {document['schema']}, this version shows {SCHEMA}; "
            "aggregate again with the version that shall show it"
        )
    return document


def _read_entry(line: Json) -> IndexEntry:
    return IndexEntry(
        question=_name(line["question"]),
        title=str(line["title"]),
        asks=str(line["asks"]),
        file=Path(str(line["file"])).name,
        rows=int(line["rows"]),
        total=int(line["total"]),
    )


def _name(value: object) -> str:
    name = str(value)
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or name in ("index", "law"):
        raise SiteFault(f"a question is called {name!r}; expected letters, digits and _")
    return name


def _script(path: Path, name: str, document: object) -> None:
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    path.write_text(f"wireproof.take({json.dumps(name)},{text});\n", encoding="utf-8")


def _law(answers: Iterable[Json]) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield the catalogue's data on each clause of the protocols in the answers."""
    for protocol in sorted({name for answer in answers for name in _protocols(answer)}):
        if protocol not in protocols():
            continue
        for group in load_catalogue(protocol).groups:
            for clause in group.clause:
                facts = {"level": clause.level, "law": clause.law, "source": source(clause)}
                again = "client" if clause.role == CLIENT else "run"
                facts |= {"origin": clause.origin, "again": again}
                more = {"group": group.group, "title": group.title, "status": clause.status}
                yield clause.id, {**facts, **more, "why": clause.why}


def _protocols(answer: Json) -> Iterator[str]:
    names = [column["name"] for column in answer["columns"]]
    if "protocol" in names:
        place = names.index("protocol")
        yield from (str(row[place]) for row in answer["rows"])


def _assets(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    own = resources.files("wireproof_reports") / "templates" / "site"
    for name in OWN_ASSETS:
        (folder / name).write_bytes((own / name).read_bytes())
    try:
        plotly = resources.files("plotly") / "package_data" / PLOTLY
    except ModuleNotFoundError as error:
        raise SiteFault(
            f"plotly is missing; install it with: {install_command('spark')}"
        ) from error
    with resources.as_file(plotly) as path:
        shutil.copyfile(path, folder / PLOTLY)


def _page(
    path: Path,
    template: str,
    page: PageOf | None,
    pages: Sequence[PageOf],
    asked: Sequence[IndexEntry],
    index: Json,
) -> None:
    text = _ENVIRONMENT.get_template(template).render(
        page=page, pages=pages, asked=asked, index=index, policy=POLICY
    )
    path.write_text(text, encoding="utf-8", newline="\n")


_ENVIRONMENT = jinja2.Environment(
    loader=jinja2.PackageLoader("wireproof_reports", "templates/site"),
    autoescape=True,
    finalize=finalize,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
