"""The compatibility statement as one HTML page, which a vendor may publish with a release."""

from pathlib import Path

from wireproof_reports.render.html import page_from


def write(bundle: Path, out: Path) -> None:
    """Write the compatibility statement of a bundle as one HTML file.

    Raises:
        BundleFault: the bundle cannot be read.
    """
    out.write_text(render(bundle), encoding="utf-8", newline="\n")


def render(bundle: Path) -> str:
    """Return the compatibility statement of a bundle as HTML; the same input, the same bytes.

    Raises:
        BundleFault: the bundle cannot be read.
    """
    return page_from("statement.html.jinja", bundle)
