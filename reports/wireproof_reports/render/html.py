"""The report as one self-contained HTML file: no network, no fonts.

All but the exchanges behind the first causes is read without a script. The page's policy forbids
loading anything, and running any script but the page's own.
"""

import base64
import difflib
import hashlib
import json
import zlib
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import jinja2
from markupsafe import Markup

from wireproof_reports.bundle_file import Bundle, BundleFault, read_bundle
from wireproof_reports.causes import find_deviation
from wireproof_reports.render.findings import CauseView, cause_views
from wireproof_reports.render.page import Page, page_of, read_page
from wireproof_reports.wording import escape_acting
from wireproof_spec.private_file import make_private

__all__ = ["page_from", "render", "render_bundle", "render_with", "write", "write_cause"]

MOST_PLAIN = 50
"""Causes whose exchange and script stand in the page as they are; those of the others are packed.

3,000 distinct failures made a page of 146 MB.
"""
IN_A_PACK = 25
"""Causes of one pack: their scripts are alike, and one pack is inflated at a time."""
SHOWN_IDS = 5
"""How many causes a message names."""
_SHEET = "report.css"
_SCRIPT = "report.js"


def write(bundle: Path, out: Path) -> None:
    """Write the report of a bundle as one HTML file.

    Raises:
        BundleFault: the bundle cannot be read.
    """
    page = render(bundle)
    make_private(out).write_text(page, encoding="utf-8", newline="\n")


def render(bundle: Path) -> str:
    """Return the HTML report of a bundle; the same bundle and version give the same bytes.

    Raises:
        BundleFault: the bundle cannot be read.
    """
    return page_from("report.html.jinja", bundle)


def write_cause(bundle: Path, out: Path, wanted: str) -> None:
    """Write a page about one root cause of a bundle.

    ``wanted`` is its id, a case that fails, or the signature of a failure, as `replay` takes it.
    The page shows the case that was named; it may have failed in some of its runs alone.

    Raises:
        BundleFault: the bundle cannot be read, or no failure of it has that id.
    """
    whole = read_bundle(bundle)
    page = page_of(whole)
    named = find_deviation(whole.cases, whole.header, wanted)
    if named is None:
        failed = sorted({name for cause in page.causes for name in _names(cause)})
        near = difflib.get_close_matches(wanted, failed, n=1)
        known = ", ".join(f"{cause.id} ({cause.first.id})" for cause in page.causes[:SHOWN_IDS])
        more = ", …" if len(page.causes) > SHOWN_IDS else ""
        has = f"it has {known}{more}" if known else "no case failed"
        has = f"did you mean {near[0]!r}? {has}" if near else has
        raise BundleFault(f"{bundle}: no failure has the cause or case {wanted!r}; {has}")
    (found,) = cause_views(whole, whole.catalogue(), [named])
    make_private(out).write_text(
        _render("cause.html.jinja", page, cause=found), encoding="utf-8", newline="\n"
    )


def _names(cause: CauseView) -> set[str]:
    return {cause.id, cause.first.id, *(case.id for case in cause.others), *cause.listed}


def render_bundle(bundle: Bundle) -> str:
    """Return the HTML report of a bundle in memory."""
    return _render("report.html.jinja", page_of(bundle))


def page_from(template: str, bundle: Path) -> str:
    """Return a page about a bundle, rendered with the template of this name.

    Raises:
        BundleFault: the bundle cannot be read.
    """
    return _render(template, read_page(bundle))


def _render(template: str, page: Page, **more: object) -> str:
    packs = [
        page.causes[at : at + IN_A_PACK] for at in range(MOST_PLAIN, len(page.causes), IN_A_PACK)
    ]
    packed = [(number, part) for number, pack in enumerate(packs) for part in range(len(pack))]
    return render_with(
        template,
        page=page,
        **more,
        places=[*([None] * MOST_PLAIN), *packed],
        packs=list(map(_pack, packs)),
    )


def render_with(template: str, **values: object) -> str:
    """Return a page rendered with the template of this name, in the style of all reports."""
    sheet, script = _asset(_SHEET), _asset(_SCRIPT)
    return _ENVIRONMENT.get_template(template).render(
        **values,
        sheet=Markup(sheet),
        script=Markup(script),
        policy="; ".join(
            [
                "default-src 'none'",
                f"style-src '{_hash(sheet)}'",
                f"script-src '{_hash(script)}'",
                "base-uri 'none'",
                "form-action 'none'",
            ]
        ),
    )


def _pack(causes: Sequence[CauseView]) -> str:
    """Return the evidence of causes as JSON texts of HTML, deflated and in base64."""
    template = _ENVIRONMENT.get_template("cause_evidence.html.jinja")
    texts = [template.render(cause=cause) for cause in causes]
    return base64.b64encode(zlib.compress(json.dumps(texts).encode(), 9)).decode()


def _asset(name: str) -> str:
    return (resources.files("wireproof_reports") / "templates" / name).read_text("utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _download(text: str) -> str:
    """Return a text as a data: URL that a browser can save."""
    encoded = base64.b64encode(text.encode("utf-8", "backslashreplace")).decode()
    return f"data:text/x-python;base64,{encoded}"


def finalize(value: object) -> object:
    """Return what a template writes: a text from outside without what acts on a screen."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return escape_acting(value)


def _sentence(text: str) -> str:
    """Return the text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


_ENVIRONMENT = jinja2.Environment(
    loader=jinja2.PackageLoader("wireproof_reports"),
    autoescape=True,
    finalize=finalize,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters["download"] = _download
_ENVIRONMENT.filters["sentence"] = _sentence
