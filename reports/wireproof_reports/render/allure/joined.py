"""Completes what allure-pytest writes; loaded only when allure-pytest is in use."""

import functools
import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Protocol, Self, cast

import pytest

from wireproof_reports.bundle_file import Bundle
from wireproof_reports.render.allure.case_result import PAGE, Run, render_case, wants_capture
from wireproof_reports.render.allure.folder import write_frame
from wireproof_reports.render.allure.library import (
    File,
    InProgress,
    Nested,
    attach,
    fill,
    plugins,
    wrapper,
)
from wireproof_reports.render.html import render_bundle
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.private_file import make_own, make_private
from wireproof_spec.record import CaseRecord, FooterRecord, HeaderRecord

LISTENER = "allure_listener"
"""The name under which allure-pytest registers what holds the result in progress."""


class _Handle(Protocol):
    """Hypothesis's attribute of a test function; it holds the function that runs one example."""

    inner_test: Callable[..., object]


class _Reporter(Protocol):
    def get_test(self, uuid: str | None) -> InProgress | None: ...


class _Listener(Protocol):
    allure_logger: _Reporter


class Examples:
    """Keeps the Allure files of only the last Hypothesis example of a test.

    All examples add to one result. Before each example, what the last one added is removed.
    Hypothesis runs the smallest failing example last, so that its files are kept.
    """

    def __init__(self, reporter: _Reporter | None, handle: _Handle | None, folder: Path) -> None:
        self._reporter = reporter
        self._handle = handle
        self._folder = folder
        self._before: tuple[int, int] | None = None
        self._inner = handle.inner_test if handle else None
        if handle is not None:
            handle.inner_test = self._watch(handle.inner_test)

    @classmethod
    def of(cls, item: pytest.Item, folder: Path) -> Self:
        """Start to watch the Hypothesis examples of a test item, if it has any."""
        function = getattr(item, "obj", None)
        listener = cast(_Listener | None, item.config.pluginmanager.getplugin(LISTENER))
        handle: _Handle | None = getattr(function, "hypothesis", None)
        if listener is None or not getattr(function, "is_hypothesis_test", False):
            return cls(None, None, folder)
        return cls(listener.allure_logger, handle, folder)

    def forget(self) -> None:
        """Remove from the Allure result what the last example added, and delete its files."""
        result = self._reporter.get_test(None) if self._reporter else None
        if result is None or self._before is None:
            return
        steps, attachments = self._before
        for file in [*_files(result.steps[steps:]), *result.attachments[attachments:]]:
            (self._folder / file.source).unlink(missing_ok=True)
        del result.steps[steps:], result.attachments[attachments:]

    def end(self) -> None:
        """Stop watching: restore the original function of the test."""
        if self._handle is not None and self._inner is not None:
            self._handle.inner_test = self._inner

    def _watch(self, inner: Callable[..., object]) -> Callable[..., object]:
        # Hypothesis knows a test by the source of its function; ours must look like it.
        @functools.wraps(inner)
        def example(*arguments: object, **named: object) -> object:
            if self._before is None:
                result = self._reporter.get_test(None) if self._reporter else None
                self._before = (len(result.steps), len(result.attachments)) if result else None
            else:
                self.forget()
            return inner(*arguments, **named)

        return example


def _files(steps: list[Nested]) -> Iterator[File]:
    for step in steps:
        yield from step.attachments
        yield from _files(step.steps)


HOST, THREAD = "host", "thread"
"""Labels of allure-pytest: what it says of the process is kept, of the machine nothing is."""


def join(config: pytest.Config, folder: str) -> None:
    """Register the plug-in that completes Allure's results, with pytest and with Allure."""
    glue = Glue(config, Path(folder))
    config.pluginmanager.register(glue, "wireproof-allure-writer")
    plugins().register(glue, "wireproof-allure")
    config.add_cleanup(lambda: _leave(glue))


def _leave(glue: object) -> None:
    plugins().unregister(glue)


class Glue:
    """A plug-in of pytest and Allure: completes Allure's results of cases from their records."""

    def __init__(self, config: pytest.Config, folder: Path) -> None:
        self._config = config
        self._folder = folder
        self._judged: tuple[HeaderRecord, CaseRecord] | None = None
        self._header: HeaderRecord | None = None
        self._cases: list[CaseRecord] = []

    def pytest_runtest_logstart(self) -> None:
        """Forget the record of the previous test."""
        self._judged = None

    def pytest_wireproof_judged(self, header: HeaderRecord, record: CaseRecord) -> None:
        """Keep a case's record until Allure writes the result of the same test."""
        self._judged = (header, record)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None]:
        """Keep only the attachments of the last failing Hypothesis example."""
        examples = Examples.of(item, self._folder)
        try:
            yield
        except BaseException:
            raise
        else:
            examples.forget()
        finally:
            examples.end()

    @wrapper
    def report_result(self, result: InProgress) -> Generator[None]:
        """Complete a case's Allure result from its record; remove the machine's name from all.

        The files of a case hold its exchange, so that only their owner may read them.
        """
        result.labels = [label for label in result.labels if label.name != HOST]
        if self._judged is None:
            return (yield)
        for file in (*result.attachments, *_files(result.steps)):
            make_private(self._folder / file.source)
        # Allure draws the names of its files itself, and writes each under another name first.
        before = os.umask(0o077)
        try:
            self._complete(result, *self._judged)
            return (yield)
        finally:
            os.umask(before)

    def _complete(self, result: InProgress, header: HeaderRecord, record: CaseRecord) -> None:
        run = Run(header, load_catalogue(header.target.protocol), self._bundle_name(), result.uuid)
        done = render_case(record, run, start=result.start, capture=self._capture(header, record))
        for name, data in done.files.items():
            attach(data, name)
        fill(result, done.result, kept=(THREAD,))

    def _capture(self, header: HeaderRecord, record: CaseRecord) -> bytes | None:
        if not wants_capture(record):
            return None
        made = self._config.hook.pytest_wireproof_capture(header=header, record=record)
        return cast(bytes | None, made)

    def pytest_wireproof_header(self, header: HeaderRecord) -> None:
        """Write Allure's categories and environment in the process that starts the run."""
        self._header = header
        write_frame(self._folder, header)

    def pytest_wireproof_case(self, record: CaseRecord) -> None:
        """Keep a case's record for the HTML page of its clause, to which the report links."""
        self._cases.append(record)

    def pytest_wireproof_footer(self, footer: FooterRecord) -> None:
        """Write the HTML page of clauses, and add the statement to Allure's environment."""
        if self._header is None:
            return
        whole = Bundle(self._bundle_name(), self._header, tuple(self._cases), footer)
        write_frame(self._folder, self._header, whole)
        page = render_bundle(whole)
        make_own(self._folder / PAGE).write_text(page, encoding="utf-8", newline="\n")

    def _bundle_name(self) -> str:
        given: str | None = self._config.getoption("--bundle")
        return Path(given).name if given else ""
