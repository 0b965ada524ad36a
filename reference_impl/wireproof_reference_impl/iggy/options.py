"""The options of `serve`."""

from dataclasses import dataclass
from pathlib import Path

PUBLISHED = "published"
DEPLOYED = "deployed"
TAGGED = "tagged"
APACHE = "apache"

DIALECTS = (PUBLISHED, DEPLOYED)
GENERATIONS = (PUBLISHED, TAGGED, APACHE)

SEGMENT_SIZE = 1 << 30
"""Bytes after which a segment is full; the measured server takes no larger ones."""


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """The options of the Iggy server: addresses, data folder and behaviour.

    Without a folder, messages are kept in memory.
    """

    tcp: tuple[str, int] = ("127.0.0.1", 8090)
    http: tuple[str, int] = ("127.0.0.1", 3000)
    data: Path | None = None
    segment_size: int = SEGMENT_SIZE
    generation: str = PUBLISHED
    dialect: str = PUBLISHED
    faults: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    json: bool = False
    until_input_ends: bool = False
    control: tuple[str, int] | None = None
    number: str | None = None
    """The protocol number of generation `apache`; None is that of the published pages."""
