"""Our part in what allure-pytest writes: loaded only beside it, with its own library."""

from collections.abc import Generator
from pathlib import Path
from typing import cast

import allure_commons
import pytest
from allure_commons import model2
from allure_commons.types import LabelType

from wireproof_reports.allure.case_result import PAGE, Run, rendered, wants_capture
from wireproof_reports.allure.examples import Examples
from wireproof_reports.allure.folder import write_frame
from wireproof_reports.allure.result import Rendered, Step
from wireproof_reports.bundle_file import Bundle
from wireproof_reports.html import render_bundle
from wireproof_spec.catalogue import load_catalogue
from wireproof_spec.record import CaseRecord, FooterRecord, HeaderRecord

KEPT_LABELS = (LabelType.THREAD,)
"""What allure-pytest says of the process is kept; of the machine nothing is."""


def join(config: pytest.Config, folder: str) -> None:
    """Register with pytest and with Allure."""
    glue = Glue(config, Path(folder))
    config.pluginmanager.register(glue, "wireproof-allure-writer")
    allure_commons.plugin_manager.register(glue, "wireproof-allure")
    config.add_cleanup(lambda: allure_commons.plugin_manager.unregister(glue))


class Glue:
    """Fills Allure's results of cases from their records, one at a time as they are written."""

    def __init__(self, config: pytest.Config, folder: Path) -> None:
        self._config = config
        self._folder = folder
        self._judged: tuple[HeaderRecord, CaseRecord] | None = None
        self._header: HeaderRecord | None = None
        self._cases: list[CaseRecord] = []

    def pytest_runtest_logstart(self) -> None:
        """Forget the test before."""
        self._judged = None

    def pytest_wireproof_judged(self, header: HeaderRecord, record: CaseRecord) -> None:
        """Keep the record until Allure writes the result of the same test."""
        self._judged = (header, record)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None]:
        """Keep of Hypothesis's examples what the last failing one attached."""
        examples = Examples.of(item, self._folder)
        try:
            yield
        except BaseException:
            raise
        else:
            examples.forget()
        finally:
            examples.end()

    @allure_commons.hookimpl(tryfirst=True)
    def report_result(self, result: model2.TestResult) -> None:
        """Say of a case what its record says, and of no test on which machine it ran."""
        kept = [label for label in result.labels if label.name != LabelType.HOST]
        result.labels = kept
        if self._judged is None:
            return
        header, record = self._judged
        run = Run(header, load_catalogue(header.target.protocol), self._bundle_name(), result.uuid)
        done = rendered(record, run, start=result.start, capture=self._capture(header, record))
        for name, data in done.files.items():
            allure_commons.plugin_manager.hook.report_attached_data(body=data, file_name=name)
        _fill(result, done)

    def _capture(self, header: HeaderRecord, record: CaseRecord) -> bytes | None:
        if not wants_capture(record):
            return None
        made = self._config.hook.pytest_wireproof_capture(header=header, record=record)
        return cast(bytes | None, made)

    def pytest_wireproof_header(self, header: HeaderRecord) -> None:
        """Write categories and environment where the run is begun."""
        self._header = header
        write_frame(self._folder, header)

    def pytest_wireproof_case(self, record: CaseRecord) -> None:
        """Keep the record for the page to which clause links lead."""
        self._cases.append(record)

    def pytest_wireproof_footer(self, footer: FooterRecord) -> None:
        """Write that page, and the statement into the environment."""
        if self._header is None:
            return
        whole = Bundle(self._bundle_name(), self._header, tuple(self._cases), footer)
        write_frame(self._folder, self._header, whole)
        (self._folder / PAGE).write_text(render_bundle(whole), encoding="utf-8", newline="\n")

    def _bundle_name(self) -> str:
        given = cast(str | None, self._config.getoption("--bundle"))
        return Path(given).name if given else ""


def _fill(result: model2.TestResult, done: Rendered) -> None:
    ours = done.result
    kept = [label for label in result.labels if label.name in KEPT_LABELS]
    result.name, result.fullName = ours.name, ours.full_name
    result.historyId, result.testCaseId = ours.history_id, ours.test_case_id
    result.status, result.stage = ours.status, ours.stage
    result.statusDetails = model2.StatusDetails(
        known=ours.status_details.known,
        flaky=ours.status_details.flaky,
        message=ours.status_details.message,
        trace=ours.status_details.trace,
    )
    result.description, result.descriptionHtml = ours.description, None
    result.titlePath = list(ours.title_path)
    result.labels = [*(model2.Label(label.name, label.value) for label in ours.labels), *kept]
    result.links = [model2.Link(link.type, link.url, link.name) for link in ours.links]
    result.parameters = [
        model2.Parameter(name=each.name, value=each.value, excluded=each.excluded)
        for each in ours.parameters
    ]
    result.steps = [_step(step) for step in ours.steps]
    files = (
        model2.Attachment(name=each.name, source=each.source, type=each.type)
        for each in ours.attachments
    )
    result.attachments = [*files, *result.attachments]


def _step(step: Step) -> model2.TestStepResult:
    details = model2.StatusDetails(message=step.status_details.message)
    return model2.TestStepResult(
        name=step.name,
        status=step.status,
        statusDetails=details,
        stage=step.stage,
        start=step.start,
        stop=step.stop,
    )
