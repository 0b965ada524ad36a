"""The options of `serve`."""

from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from wireproof_spec.nsq.limits import MAX_BODY_SIZE, MAX_BYTES_PER_FILE, MAX_MSG_SIZE

PUBLISHED = "published"
DEPLOYED = "deployed"


class Fsync(Enum):
    """When records are synced to the disk, so that they survive a loss of the machine.

    They survive the end of the process in any case: each is written to the operating system before
    its publish is answered.
    """

    ALWAYS = "always"
    """Before anything is acknowledged or delivered; once for all that came at a time."""
    INTERVAL = "interval"
    """Once a second: the loss of power costs at most what came since."""
    NEVER = "never"
    """When the operating system sees fit."""


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """The options of the NSQ broker; without HTTP address or data folder there is none.

    With lookup servers the nodes form a cluster; `tcp` and `http` are the first node's, all other
    ports are free ones of the same host.
    """

    tcp: tuple[str, int] = ("127.0.0.1", 4150)
    http: tuple[str, int] | None = ("127.0.0.1", 4151)
    data: Path | None = None
    fsync: Fsync = Fsync.NEVER
    dialect: str = PUBLISHED
    max_msg_size: int = MAX_MSG_SIZE
    max_body_size: int = MAX_BODY_SIZE
    max_bytes_per_file: int = MAX_BYTES_PER_FILE
    faults: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    json: bool = False
    until_input_ends: bool = False
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    tls_required: bool = False
    secret: bytes | None = field(default=None, repr=False)
    nodes: int = 1
    lookupds: int = 0
    control: tuple[str, int] | None = None
