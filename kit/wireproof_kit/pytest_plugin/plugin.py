"""The pytest plug-in: the same engine under plain pytest and under the command line.

Case functions become items like any others; running one hands it to the engine, which builds
fresh kit objects for every run of it. Records travel on pytest's reports, so that the bundle is
written in one place, also under xdist.
"""

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import cast

import pytest

from wireproof_kit.bundle.captures import captures
from wireproof_kit.case import case_mark
from wireproof_kit.errors import KitError, UsageFault
from wireproof_kit.observation import Observation
from wireproof_kit.protocols import case_arguments, known_protocols, protocol_of
from wireproof_kit.pytest_plugin.conductor import INSTANCE, Conductor, Recorder, give_up
from wireproof_kit.pytest_plugin.options import add_options, broker_url
from wireproof_kit.runner import hooks
from wireproof_kit.runner.exclusions import read_exclusions
from wireproof_kit.runner.instance import Instance, lawless, make_instance
from wireproof_kit.runner.several import several_of
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.catalogue import load_catalogue
from wireproof_spec.record import CaseRecord, HeaderRecord

CONDUCTOR = "wireproof-conductor"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of a run."""
    add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the hooks through which a run is watched."""
    pluginmanager.add_hookspecs(hooks)


def pytest_wireproof_capture(header: HeaderRecord, record: CaseRecord) -> bytes | None:
    """Make a capture for who asks, where the ``pcap`` extra is installed."""
    return captures()(header, record)


def pytest_configure(config: pytest.Config) -> None:
    """Register the fixtures and, when a target is named, who conducts and records the run."""
    config.pluginmanager.register(_fixtures(), "wireproof-fixtures")
    if broker_url(config) is None or config.getoption("collectonly"):
        return
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(config), "wireproof-recorder")
    is_controller = bool(config.getoption("numprocesses", None))
    if not is_controller:
        config.pluginmanager.register(Conductor(config), CONDUCTOR)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a case for each of the things of which the target has several."""
    if case_mark(metafunc.function) is None:
        return
    for argument, names in several_of(metafunc.config).items():
        if argument in metafunc.fixturenames:
            metafunc.parametrize(argument, names, ids=names)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Bind each case to its clause; an unknown clause or a case without law ends collection."""
    try:
        instances = [found for item in items if (found := _bind(item)) is not None]
        _refuse_lawless(instances)
        _leave_out_excluded(config, items)
    except KitError as error:
        raise give_up(config, str(error)) from error


def _bind(item: pytest.Item) -> Instance | None:
    if not isinstance(item, pytest.Function):
        return None
    function = cast(Callable[..., Observation], item.obj)
    mark = case_mark(function)
    if mark is None:
        return None
    protocol = protocol_of(mark.id)
    if protocol not in known_protocols():
        raise UsageFault(f"case {mark.id}: the id begins with no known protocol")
    clause = load_catalogue(protocol).clause(mark.clause)
    if clause is None:
        raise UsageFault(f"case {mark.id} names clause {mark.clause}, which no catalogue has")
    spec = getattr(item, "callspec", None)
    instance = make_instance(
        function,
        mark,
        parameter_id=cast(str, spec.id) if spec else "",
        parameters=cast(dict[str, object], spec.params) if spec else {},
        clause=clause,
    )
    item.stash[INSTANCE] = instance
    return instance


def _refuse_lawless(instances: list[Instance]) -> None:
    for protocol in {protocol_of(instance.id) for instance in instances}:
        own = [item for item in instances if item.id.startswith(f"{protocol}/")]
        missing = lawless(own, load_catalogue(protocol))
        if missing:
            raise UsageFault(f"case {missing[0]} has no accept set in the catalogue")


def _leave_out_excluded(config: pytest.Config, items: list[pytest.Item]) -> None:
    excluded = [entry.id for entry in read_exclusions()]
    dropped = [
        item
        for item in items
        if INSTANCE in item.stash
        and any(item.stash[INSTANCE].is_selected_by(prefix) for prefix in excluded)
    ]
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = [item for item in items if item not in dropped]


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
