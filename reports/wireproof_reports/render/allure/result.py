"""An Allure test result: the fields of its JSON that we write."""

from dataclasses import dataclass
from typing import Literal

import msgspec

Status = Literal["passed", "failed", "broken", "skipped"]


class Label(msgspec.Struct, frozen=True):
    """A name and a value by which Allure groups results."""

    name: str
    value: str


class Link(msgspec.Struct, frozen=True):
    """A link from an Allure result to more information."""

    name: str
    url: str
    type: str = "link"


class Parameter(msgspec.Struct, frozen=True):
    """A parameter of an Allure result; ``excluded`` ones do not distinguish results."""

    name: str
    value: str
    excluded: bool = False


class Attachment(msgspec.Struct, frozen=True):
    """A file of an Allure result; ``source`` is its file name, ``type`` its media type."""

    name: str
    source: str
    type: str


class Details(msgspec.Struct, frozen=True, omit_defaults=True):
    """The reason for a result's status in Allure; ``known`` and ``flaky`` are Allure's flags."""

    message: str = ""
    trace: str = ""
    known: bool = False
    flaky: bool = False


class Step(msgspec.Struct, frozen=True, rename="camel"):
    """One step of a case in an Allure result; times are milliseconds since 1970."""

    name: str
    status: Status
    start: int
    stop: int
    status_details: Details = Details()
    stage: str = "finished"


class Result(msgspec.Struct, frozen=True, rename="camel"):
    """The Allure result of one case; ``history_id`` identifies the case, whatever the target."""

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
    """An Allure result, and the content of its attached files by file name."""

    result: Result
    files: dict[str, bytes]
