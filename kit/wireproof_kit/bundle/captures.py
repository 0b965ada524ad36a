"""Writing the exchanges of a case as a pcap file; needs the ``pcap`` extra."""

import importlib.util
from collections.abc import Callable
from typing import cast

from wireproof_kit.protocols import resolve
from wireproof_spec.record import CaseRecord, HeaderRecord

CAPTURE = "wireproof_kit.pcap.capture:capture_of"
"""Import path of the function that makes the pcap file of one case."""

Capture = Callable[[HeaderRecord, CaseRecord], bytes | None]


def captures() -> Capture:
    """Return the function that makes a case's pcap file; without scapy, one that returns None."""
    if importlib.util.find_spec("scapy") is None or not _is_there(CAPTURE.partition(":")[0]):
        return lambda _header, _case: None
    return cast(Capture, resolve(CAPTURE))


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
