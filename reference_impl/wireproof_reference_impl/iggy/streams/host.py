"""The machine that the server runs on, as the process reports it."""

from collections.abc import Callable
from typing import NamedTuple

from msgspec import Struct


class Measures(NamedTuple):
    """Present figures of process and machine: CPU in percent, everything else in bytes."""

    cpu: float = 0.0
    memory: int = 0
    total: int = 0
    available: int = 0
    read: int = 0
    written: int = 0


class Host(Struct, frozen=True):
    """The process and the machine that the server reports; `measure` gives present figures."""

    process: int = 0
    hostname: str = "host"
    os_name: str = "os"
    os_version: str = "0"
    kernel_version: str = "0"
    measure: Callable[[], Measures] = Measures
