"""Hypothesis examples in Allure: only the last failing example keeps its files."""

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol, Self, cast

import pytest

from wireproof_reports.render.allure.library import File, InProgress, Nested

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
    """The Hypothesis examples of one test; does nothing for other tests.

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
        """Watch the examples of a test item, if it has any."""
        function = getattr(item, "obj", None)
        listener = cast(_Listener | None, item.config.pluginmanager.getplugin(LISTENER))
        handle = cast(_Handle | None, getattr(function, "hypothesis", None))
        if listener is None or not getattr(function, "is_hypothesis_test", False):
            return cls(None, None, folder)
        return cls(listener.allure_logger, handle, folder)

    def forget(self) -> None:
        """Remove what the last example added, and delete its files."""
        result = self._reporter.get_test(None) if self._reporter else None
        if result is None or self._before is None:
            return
        steps, attachments = self._before
        for file in [*_files(result.steps[steps:]), *result.attachments[attachments:]]:
            (self._folder / file.source).unlink(missing_ok=True)
        del result.steps[steps:], result.attachments[attachments:]

    def end(self) -> None:
        """Restore the original function of the test."""
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
