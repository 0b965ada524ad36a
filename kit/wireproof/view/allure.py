"""Allure results and Allure's site, with captures where the ``pcap`` extra is installed."""

from pathlib import Path

from wireproof_kit.bundle.captures import captures
from wireproof_kit.errors import UsageFault


def write_results(bundle: Path, out: Path) -> None:
    """Write a bundle as a folder of Allure result files."""
    from wireproof_reports.render.allure.folder import write

    write(bundle, out, captures())


def write_site(bundle: Path, out: Path) -> None:
    """Write a bundle as a folder with the HTML site that Allure makes.

    Raises:
        UsageFault: Allure is missing or fails.
    """
    from wireproof_reports.render.allure.generator import NoAllure
    from wireproof_reports.render.allure.site import SiteFault
    from wireproof_reports.render.allure.site import write_site as make

    try:
        make(bundle, out, captures())
    except (NoAllure, SiteFault) as error:
        raise UsageFault(f"--allure-html {out}: {error}") from error
