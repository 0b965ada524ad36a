"""Allure results and Allure's site, with captures where the ``pcap`` extra is installed."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import cast

from wireproof_kit.errors import UsageFault
from wireproof_kit.protocols import resolve
from wireproof_spec.record import CaseRecord, HeaderRecord

CAPTURE = "wireproof_kit.pcap.capture:capture_of"
"""What makes the pcap file of one case."""

Capture = Callable[[HeaderRecord, CaseRecord], bytes | None]


def write_results(bundle: Path, out: Path) -> None:
    """Render a bundle into a folder of Allure results."""
    from wireproof_reports.allure.folder import write

    write(bundle, out, captures())


def write_site(bundle: Path, out: Path) -> None:
    """Make Allure's site of a bundle.

    Raises:
        UsageFault: there is no Allure here, or it fails.
    """
    from wireproof_reports.allure.generator import NoAllure
    from wireproof_reports.allure.site import SiteFault
    from wireproof_reports.allure.site import write_site as make

    try:
        make(bundle, out, captures())
    except (NoAllure, SiteFault) as error:
        raise UsageFault(f"--allure-html {out}: {error}") from error


def captures() -> Capture:
    """Return what makes a case's pcap file; nothing where the extra is not installed."""
    module = CAPTURE.partition(":")[0]
    if importlib.util.find_spec("scapy") is None or not _is_there(module):
        return lambda _header, _case: None
    return cast(Capture, resolve(CAPTURE))


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
