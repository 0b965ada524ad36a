"""Captures of exchanges, and what the protocols' scapy layers share; needs the extra ``pcap``.

scapy is GPL-2.0-only. It is imported in this folder and in the protocols' own ``pcap`` folders
alone; this module imports it when something is written, and nothing else imports the others.
"""

import importlib.util
from collections.abc import Iterable
from pathlib import Path

from wireproof_kit.errors import UsageFault
from wireproof_kit.pcap.exchange import Exchange
from wireproof_spec.extras import install_command

MISSING = f"captures need scapy, which is not installed: {install_command('pcap')}"


def is_installed() -> bool:
    """Return True if the ``pcap`` extra is installed."""
    return importlib.util.find_spec("scapy") is not None


def write(path: Path, exchanges: Iterable[Exchange]) -> None:
    """Write exchanges into one capture file for Wireshark.

    Raises:
        UsageFault: the extra is not installed.
        OSError: the file cannot be written.
    """
    if not is_installed():
        raise UsageFault(MISSING)
    from wireproof_kit.pcap.capture import write_capture

    write_capture(path, exchanges)
