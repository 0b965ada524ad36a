"""Test functions that pytest collected, as cases: bound to the catalogue, or refused."""

from collections.abc import Callable, Iterable

import pytest

from wireproof_kit.case import case_mark
from wireproof_kit.errors import KitError, UsageFault
from wireproof_kit.observation import Observation
from wireproof_kit.protocols import known_protocols, protocol_of
from wireproof_kit.runner.exclusions import read_exclusions
from wireproof_kit.runner.instance import Instance, make_instance, place_of
from wireproof_kit.runner.several import Several
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.protocol import describe_mistake

INSTANCE: pytest.StashKey[Instance] = pytest.StashKey()


class CaseCollector:
    """A pytest plug-in that keeps the collected cases, or the reason why there are none."""

    def __init__(self, several: Several) -> None:
        self._several = several
        self.instances: list[Instance] = []
        self.fault = ""

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Make one case for each value of an argument that the target has, such as a document."""
        parametrize_case(metafunc, self._several)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Bind each test function to its clause in the catalogue, before ``-k`` removes any."""
        try:
            bind_cases(config, items)
        except KitError as error:
            self.fault = self.fault or str(error)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Store the cases that remain after the selection."""
        self.instances = [item.stash[INSTANCE] for item in session.items if INSTANCE in item.stash]

    def pytest_exception_interact(
        self, node: pytest.Item | pytest.Collector, call: pytest.CallInfo[object]
    ) -> None:
        """If a file could not be collected, store the reason, with the line in that file."""
        if call.excinfo is not None and not self.fault:
            error = call.excinfo.value.__cause__ or call.excinfo.value
            name = getattr(node, "path", None)
            reason = describe_mistake(error, name.name if name else "")
            self.fault = f"{node.nodeid} cannot be collected: {reason}"


def parametrize_case(metafunc: pytest.Metafunc, several: Several) -> None:
    """Make one case for each value of an argument that the target has, such as a document."""
    if case_mark(metafunc.function) is None:
        return
    for argument, names in several:
        if argument in metafunc.fixturenames:
            metafunc.parametrize(argument, names, ids=names)


def bind_cases(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Store an `Instance` in each pytest item that is a case; remove the kit's own exclusions.

    Raises:
        KitError: a case names an unknown clause, has no accept set in the catalogue, or has the
            id of another one.
    """
    for item in items:
        _bind(item)
    _refuse_twins(item.stash[INSTANCE] for item in items if INSTANCE in item.stash)
    _drop_excluded(config, items)


def _refuse_twins(instances: Iterable[Instance]) -> None:
    """Refuse two cases with one id: a bundle has one result for each."""
    known: dict[str, Instance] = {}
    for instance in instances:
        other = known.setdefault(instance.id, instance)
        if other is not instance:
            places = f"{place_of(other.function)} and {place_of(instance.function)}"
            raise UsageFault(f"two cases have the id {instance.id}: {places}; rename one of them")


def _bind(item: pytest.Item) -> None:
    if not isinstance(item, pytest.Function):
        return
    function: Callable[..., Observation] = item.obj
    mark = case_mark(function)
    if mark is None:
        return
    protocol = protocol_of(mark.id)
    if protocol not in known_protocols():
        raise UsageFault(f"case {mark.id}: the id begins with no known protocol")
    spec = getattr(item, "callspec", None)
    item.stash[INSTANCE] = make_instance(
        function,
        mark,
        parameter_id=spec.id if spec else "",
        parameters=spec.params if spec else {},
        catalogue=load_catalogue(protocol),
    )


def _drop_excluded(config: pytest.Config, items: list[pytest.Item]) -> None:
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
