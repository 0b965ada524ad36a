"""The compatibility statement as one HTML page, which a vendor may publish with a release."""

from pathlib import Path

from wireproof_reports.render.html import page_from


def write(bundle: Path, out: Path) -> None:
    """Render a bundle as a compatibility statement in one HTML file.

    Raises:
        BundleFault: the bundle cannot be read.
    """
    out.write_text(render(bundle), encoding="utf-8", newline="\n")


def render(bundle: Path) -> str:
    """Return the HTML statement of a bundle; the same input always gives the same bytes.

    Raises:
        BundleFault: the bundle cannot be read.
    """
    return page_from("statement.html.jinja", bundle)
