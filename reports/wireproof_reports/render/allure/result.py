"""One test result as Allure reads it: the fields of its JSON, of which ours fills these."""

from dataclasses import dataclass
from typing import Literal

import msgspec

Status = Literal["passed", "failed", "broken", "skipped"]


class Label(msgspec.Struct, frozen=True):
    """One of the names by which Allure groups results."""

    name: str
    value: str


class Link(msgspec.Struct, frozen=True):
    """A place to read more."""

    name: str
    url: str
    type: str = "link"


class Parameter(msgspec.Struct, frozen=True):
    """A value of the run; an ``excluded`` one is no part of what makes two results the same."""

    name: str
    value: str
    excluded: bool = False


class Attachment(msgspec.Struct, frozen=True):
    """A file beside the result; ``source`` is its name there, ``type`` its media type."""

    name: str
    source: str
    type: str


class Details(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a result is what it is; ``known`` and ``flaky`` are Allure's own marks."""

    message: str = ""
    trace: str = ""
    known: bool = False
    flaky: bool = False


class Step(msgspec.Struct, frozen=True, rename="camel"):
    """One event of the exchange; times are milliseconds since 1970."""

    name: str
    status: Status
    start: int
    stop: int
    status_details: Details = Details()
    stage: str = "finished"


class Result(msgspec.Struct, frozen=True, rename="camel"):
    """One case; ``history_id`` is the same for the same case whatever the target."""

    uuid: str
    history_id: str
    test_case_id: str
    full_name: str
    name: str
    status: Status
    status_details: Details
    description: str
    start: int
    stop: int
    title_path: tuple[str, ...]
    labels: tuple[Label, ...]
    links: tuple[Link, ...]
    parameters: tuple[Parameter, ...]
    steps: tuple[Step, ...]
    attachments: tuple[Attachment, ...]
    stage: str = "finished"


@dataclass(frozen=True, slots=True)
class RenderedResult:
    """A result and the files that lie beside it, by name."""

    result: Result
    files: dict[str, bytes]
