"""All cases of the kit, as pytest collects them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from wireproof.running.pytest_adapter import run_pytest
from wireproof_kit.errors import KitError, UsageFault
from wireproof_kit.runner.instance import Instance

if TYPE_CHECKING:
    import pytest

CACHE = Path("out/.pytest_cache")


@dataclass(slots=True)
class _Collector:
    """Keeps what pytest collected, or why it could not."""

    instances: list[Instance] = field(default_factory=list[Instance])
    fault: str = ""

    def pytest_collection_finish(self, session: "pytest.Session") -> None:
        """Take the instances from their items."""
        from wireproof_kit.pytest_plugin.conductor import INSTANCE

        found = (item.stash.get(INSTANCE, None) for item in session.items)
        self.instances = [instance for instance in found if instance is not None]

    def pytest_collectreport(self, report: "pytest.CollectReport") -> None:
        """Keep the last line of what kept a file from being collected."""
        if report.failed and not self.fault:
            last = report.longreprtext.strip().splitlines()[-1:]
            self.fault = f"{report.nodeid} cannot be collected: {''.join(last).strip()}"

    def pytest_wireproof_fault(self, sentence: str) -> None:
        """Keep why the plug-in gave up."""
        self.fault = sentence


def collect(arguments: Sequence[str] = (), *, protocol: str | None = None) -> tuple[Instance, ...]:
    """Return every case, or a protocol's; arguments narrow them as with pytest.

    They come in the order of the files.

    Raises:
        KitError: a case file is wrong.
        UsageFault: an argument is not right.
    """
    collector = _Collector()
    ended = run_pytest(
        ["--collect-only", *arguments],
        cache=CACHE,
        plugins=[collector],
        protocols=None if protocol is None else [protocol],
    )
    if collector.fault:
        raise KitError(collector.fault)
    if ended.code == _USAGE:
        raise UsageFault(ended.sentence())
    return tuple(collector.instances)


_USAGE = 4


def is_chosen(instance: Instance, prefixes: Sequence[str]) -> bool:
    """Tell whether any of the prefixes selects a case; no prefix selects all."""
    return not prefixes or any(instance.is_selected_by(prefix) for prefix in prefixes)
