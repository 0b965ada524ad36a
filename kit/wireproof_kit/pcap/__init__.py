"""Captures of exchanges, and what the protocols' scapy layers share; needs the extra ``pcap``.

scapy is GPL-2.0-only. It is imported in this folder and in the protocols' own ``pcap`` folders
alone; this module imports it when something is written, and nothing else imports the others.
"""

import importlib.util
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from wireproof_kit.errors import UsageFault
from wireproof_kit.pcap.exchange import Exchange
from wireproof_spec.extras import install_command

if TYPE_CHECKING:
    from wireproof_kit.pcap.live import LiveCapture

MISSING = f"captures need scapy, which is not installed: {install_command('pcap')}"


def is_installed() -> bool:
    """Return True if the optional dependency ``pcap`` (scapy) is installed."""
    return importlib.util.find_spec("scapy") is not None


def write(path: Path, exchanges: Iterable[Exchange]) -> None:
    """Write the recorded steps of cases into one capture file for Wireshark.

    Raises:
        UsageFault: the optional dependency ``pcap`` is not installed.
        OSError: the file cannot be written.
    """
    if not is_installed():
        raise UsageFault(MISSING)
    from wireproof_kit.pcap.capture import write_capture

    write_capture(path, exchanges)


def open_live(path: Path) -> "LiveCapture":
    """Return a capture file to which steps are appended as they happen.

    Raises:
        UsageFault: the optional dependency ``pcap`` is not installed.
        OSError: the file cannot be written.
    """
    if not is_installed():
        raise UsageFault(MISSING)
    from wireproof_kit.pcap.live import LiveCapture

    path.parent.mkdir(parents=True, exist_ok=True)
    return LiveCapture(path)
