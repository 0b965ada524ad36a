"""Collecting cases: pytest reads the suites, and each test function it finds becomes a case."""

import contextlib
import functools
import gc
import io
import os
from collections.abc import Generator

from wireproof_kit.errors import KitError, UsageFault
from wireproof_kit.protocols import known_protocols, suites
from wireproof_kit.runner.instance import Instance
from wireproof_kit.runner.several import Several, several_of
from wireproof_spec.protocol import Group, leave_out, package_of

_VARIABLES = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTEST_DISABLE_PLUGIN_AUTOLOAD")
_COLLECTED, _INTERRUPTED, _USAGE_ERROR, _NONE_COLLECTED = 0, 2, 4, 5
"""Exit codes of pytest, which is imported only when cases are collected."""
_OPTIONS = (
    "--collect-only",
    "--disable-plugin-autoload",
    "--noconftest",
    *("-c", os.devnull),
    *("-p", "no:terminal"),
    *("-p", "no:cacheprovider"),
    *("-p", "no:unraisableexception"),  # it ends with five full garbage collections
    "--import-mode=importlib",
)
"""No settings, plug-ins or conftest files of a user: none of them may change a verdict."""
CLIENT_CASES = ".client"
"""The package of a protocol's suites with the cases for clients."""


def collect(
    *protocols: str, expression: str | None = None, url: str | None = None, within: str = ""
) -> tuple[Instance, ...]:
    """Return the cases of the given protocols, or of all, one for each set of parameters.

    ``expression`` keeps the cases that pytest's ``-k`` would keep; ``url`` is the target, whose
    documents some cases run once for each. ``within`` is a package of the suites, such as
    ``.client``, to read no others.

    Raises:
        KitError: the suites do not import, or a case does not fit the catalogue.
        UsageFault: the expression is wrong.
    """
    several, known = several_of(url), known_protocols()
    # One protocol at a time: a process that needs all and then one of them collects none twice.
    asked = sorted({*protocols}, key=known.index) or known
    instances: list[Instance] = []
    for protocol in asked:
        try:
            instances += _collect(protocol, expression, several, within)
        except KitError as error:
            package = package_of(Group.SUITES, protocol)
            if protocols or package is None:
                raise
            leave_out(protocol, package, str(error))
    return tuple(instances)


@functools.cache
def _collect(
    protocol: str, expression: str | None, several: Several, within: str = ""
) -> tuple[Instance, ...]:
    import pytest

    from wireproof_kit.runner.pytest_items import CaseCollector

    collector = CaseCollector(several)
    narrowing = ["-k", expression] if expression else []
    said = io.StringIO()
    with _without_variables(), _without_garbage(), contextlib.redirect_stderr(said):
        code = pytest.main(
            [*_OPTIONS, *narrowing, "--pyargs", suites(protocol) + within], plugins=[collector]
        )
    if collector.fault:
        raise KitError(collector.fault)
    _refuse(int(code), said.getvalue())
    # By interface, whatever files its cases lie in: the order decides which cases meet a target
    # that withholds answers while patience lasts, and must not change when a file is moved.
    return tuple(sorted(collector.instances, key=_interface))


def _interface(instance: Instance) -> str:
    return instance.id.split("/")[1]


def _refuse(code: int, said: str) -> None:
    """Raise what pytest's exit code means, unless cases or none were collected."""
    if code in (_COLLECTED, _NONE_COLLECTED):
        return
    if code == _INTERRUPTED:
        raise KeyboardInterrupt
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    reason = lines[-1].removeprefix("ERROR: ") if lines else f"pytest ended with code {code}"
    raise UsageFault(reason) if code == _USAGE_ERROR else KitError(reason)


@contextlib.contextmanager
def _without_garbage() -> Generator[None]:
    """Collect no garbage meanwhile, and never look at what was made.

    The cases live as long as the process. To look through them took a sixth of the processor time
    of a collection, and Hypothesis collects in each new thread.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if enabled:
            gc.enable()


@contextlib.contextmanager
def _without_variables() -> Generator[None]:
    """Hide the environment variables by which a user configures pytest elsewhere."""
    hidden = {name: os.environ.pop(name) for name in _VARIABLES if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(hidden)
