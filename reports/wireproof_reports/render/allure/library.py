"""The parts of allure-python-commons that we use, with types that it does not declare."""

from collections.abc import Callable, Generator
from typing import Protocol, cast

import allure_commons
from allure_commons import model2

from wireproof_reports.render.allure.result import Details, Result, Step


class Named(Protocol):
    """The interface of a label in an unfinished Allure result."""

    name: str
    value: str


class File(Protocol):
    """The interface of an attachment in an unfinished Allure result."""

    name: str
    source: str


class Nested(Protocol):
    """The interface of a step in an unfinished Allure result."""

    steps: list["Nested"]
    attachments: list[File]


class InProgress(Protocol):
    """The interface of a result that allure-pytest holds until it is written."""

    uuid: str
    start: int
    labels: list[Named]
    steps: list[Nested]
    attachments: list[File]


class Manager(Protocol):
    """The interface of Allure's plug-in manager."""

    def register(self, plugin: object, name: str) -> object:
        """Add a plug-in under a name."""
        ...

    def unregister(self, plugin: object) -> object:
        """Remove a plug-in and return it."""
        ...


Make = Callable[..., object]

_LABEL = cast(Make, model2.Label)
_LINK = cast(Make, model2.Link)
_PARAMETER = cast(Make, model2.Parameter)
_ATTACHMENT = cast(Make, model2.Attachment)
_DETAILS = cast(Make, model2.StatusDetails)
_STEP = cast(Make, model2.TestStepResult)

Wrapper = Callable[..., Generator[None]]

wrapper = cast(
    Callable[[Wrapper], Wrapper],
    cast(Callable[..., object], allure_commons.hookimpl)(wrapper=True),
)
"""Marks a generator that Allure runs around all other methods of that name."""


def plugins() -> Manager:
    """Return Allure's plug-in manager."""
    return cast(Manager, allure_commons.plugin_manager)


def attach(data: bytes, name: str) -> None:
    """Write a file into the folder of Allure's results."""
    hooks: object = allure_commons.plugin_manager.hook
    write: Make = getattr(hooks, "report_attached_data")  # noqa: B009  # no declared name
    write(body=data, file_name=name)


def fill(result: InProgress, ours: Result, *, kept: tuple[str, ...]) -> None:
    """Copy our result into an unfinished Allure result; labels named in ``kept`` stay."""
    labels = [label for label in result.labels if label.name in kept]
    values: dict[str, object] = {
        "name": ours.name,
        "fullName": ours.full_name,
        "historyId": ours.history_id,
        "testCaseId": ours.test_case_id,
        "status": ours.status,
        "stage": ours.stage,
        "statusDetails": _details(ours.status_details),
        "description": ours.description,
        "descriptionHtml": None,
        "titlePath": list(ours.title_path),
        "labels": [*(_LABEL(label.name, label.value) for label in ours.labels), *labels],
        "links": [_LINK(link.type, link.url, link.name) for link in ours.links],
        "parameters": [
            _PARAMETER(name=parameter.name, value=parameter.value, excluded=parameter.excluded)
            for parameter in ours.parameters
        ],
        "steps": [_step(step) for step in ours.steps],
        "attachments": [
            *(
                _ATTACHMENT(name=attachment.name, source=attachment.source, type=attachment.type)
                for attachment in ours.attachments
            ),
            *result.attachments,
        ],
    }
    for name, value in values.items():
        setattr(result, name, value)


def _details(details: Details) -> object:
    return _DETAILS(
        known=details.known, flaky=details.flaky, message=details.message, trace=details.trace
    )


def _step(step: Step) -> object:
    return _STEP(
        name=step.name,
        status=step.status,
        statusDetails=_DETAILS(message=step.status_details.message),
        stage=step.stage,
        start=step.start,
        stop=step.stop,
    )
