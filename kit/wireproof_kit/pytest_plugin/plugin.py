"""The pytest plug-in: the same engine under plain pytest and under the command line.

Case functions become items like any others; running one hands it to the engine, which builds
fresh kit objects for every run of it. Records travel on pytest's reports, so that the bundle is
written in one place, also under xdist.
"""

from collections.abc import Callable, Iterator
from types import ModuleType

import pytest

from wireproof_kit.bundle.captures import captures
from wireproof_kit.errors import KitError
from wireproof_kit.processes.limits import raise_limits
from wireproof_kit.protocols import case_arguments, example_url
from wireproof_kit.pytest_plugin import hooks
from wireproof_kit.pytest_plugin.conductor import FAULT_FIELD, Conductor, Recorder, give_up
from wireproof_kit.pytest_plugin.options import add_options, broker_url
from wireproof_kit.runner.pytest_items import (
    INSTANCE,
    bind_cases,
    parametrize_case,
)
from wireproof_kit.runner.several import Several, several_of
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.record import CaseRecord, HeaderRecord

CONDUCTOR = "wireproof-conductor"
NO_TARGET = "the cases need a target: give --broker-url URL, e.g. {example}, or `reference`"
_SEVERAL: pytest.StashKey[Several] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of a run."""
    add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the hooks by which plug-ins can follow a run."""
    pluginmanager.add_hookspecs(hooks)


def pytest_wireproof_capture(header: HeaderRecord, record: CaseRecord) -> bytes | None:
    """Return the pcap file of a case, if the optional dependency ``pcap`` is installed."""
    return captures()(header, record)


def pytest_configure(config: pytest.Config) -> None:
    """Register the fixtures and, when a target is named, the plug-ins that run and record."""
    config.pluginmanager.register(_fixtures(), "wireproof-fixtures")
    config.stash[_SEVERAL] = several_of(broker_url(config))
    if broker_url(config) is None or config.getoption("collectonly"):
        return
    raise_limits()
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(config), "wireproof-recorder")
    is_controller = bool(config.getoption("numprocesses", None))
    if not is_controller:
        config.pluginmanager.register(Conductor(config), CONDUCTOR)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one case for each value of an argument that the target has, such as a document."""
    parametrize_case(metafunc, metafunc.config.stash[_SEVERAL])


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Bind each case to its clause; a wrong case, or cases without a target, end the session."""
    try:
        bind_cases(config, items)
    except KitError as error:
        give_up(config, items, str(error))
        return
    has_cases = any(INSTANCE in item.stash for item in items)
    if has_cases and broker_url(config) is None and not config.getoption("collectonly"):
        give_up(config, items, NO_TARGET.format(example=example_url()))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    """End the session with the usage error that an xdist worker reported."""
    output: dict[str, str] = getattr(node, "workeroutput", {})
    if FAULT_FIELD in output:
        raise pytest.UsageError(output[FAULT_FIELD])


def _fixtures() -> ModuleType:
    """Make one fixture per kit object, so that vendors' own tests can use them too."""
    module = ModuleType("wireproof_fixtures")
    for name in sorted(case_arguments()):
        setattr(module, name, pytest.fixture(name=name)(_kit_object(name)))
    return module


def _kit_object(name: str) -> Callable[[pytest.FixtureRequest], Iterator[object]]:
    def kit_object(request: pytest.FixtureRequest) -> Iterator[object]:
        if INSTANCE in request.node.stash:
            yield None  # the engine builds fresh objects for every run of a case
            return
        conductor = request.config.pluginmanager.getplugin(CONDUCTOR)
        if not isinstance(conductor, Conductor) or conductor.run is None:
            raise pytest.UsageError(f"{name} needs a target: give --broker-url URL or `reference`")
        session = conductor.run.session
        arguments = session.arguments((name,), Transcript())
        yield arguments[name]
        session.release(arguments)

    return kit_object
