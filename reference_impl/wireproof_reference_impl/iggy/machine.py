"""Facts about this process and this machine."""

import os
import platform
import resource
import sys

from wireproof_reference_impl.iggy.streams.host import Host, Measures

_KILOBYTE = 1024


def this_host() -> Host:
    """Return this process and machine as the server reports them."""
    return Host(
        process=os.getpid(),
        hostname=platform.node(),
        os_name=platform.system(),
        os_version=platform.version(),
        kernel_version=platform.release(),
        measure=_measure,
    )


def _measure() -> Measures:
    used = resource.getrusage(resource.RUSAGE_SELF)
    unit = 1 if sys.platform == "darwin" else _KILOBYTE
    page = os.sysconf("SC_PAGE_SIZE")
    return Measures(
        memory=used.ru_maxrss * unit,
        total=page * os.sysconf("SC_PHYS_PAGES"),
        available=page * _available_pages(),
    )


def _available_pages() -> int:
    try:
        return os.sysconf("SC_AVPHYS_PAGES")
    except (OSError, ValueError):
        return 0
