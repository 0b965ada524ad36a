"""A case with its parameters and its law bound, ready to be run any number of times."""

import difflib
import functools
import hashlib
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from wireproof_kit.case import CaseMark
from wireproof_kit.errors import UsageFault
from wireproof_kit.observation import Observation
from wireproof_kit.protocols import kit_part, protocol_of
from wireproof_spec.clauses.catalogue import CLIENT, Catalogue, Clause, Law, is_below
from wireproof_spec.protocol import Group, describe_mistake, package_of


@dataclass(frozen=True, slots=True)
class Instance:
    """One case with one set of parameters and its accept sets, ready to be run.

    ``arguments`` are the names of the kit objects it takes; ``argument_needs`` are the
    capabilities that these objects require of the target.
    """

    id: str
    title: str
    mark: CaseMark
    clause: Clause
    law: Law
    function: Callable[..., Observation]
    parameters: Mapping[str, object]
    arguments: tuple[str, ...]
    argument_needs: tuple[str, ...] = ()

    @property
    def hash(self) -> str:
        """A hash of the case's code, parameters and clause, which shows whether the case changed.

        It is computed on access: reading the code takes a third as long as collecting everything.
        A run reads it before its first case: later the file may have changed, or no file may be
        left to open.
        """
        text = "\0".join((_source(self.function), self.id, self.clause.id))
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def read_source(self) -> None:
        """Read the case's code now, for `hash`."""
        _source(self.function)

    @property
    def needs(self) -> tuple[str, ...]:
        """The capabilities that the clause, the case, its parameters and its arguments require."""
        own = self.id.removeprefix(f"{self.mark.id}/").removesuffix(f"/{self.mark.place}")
        of_parameters = self.mark.needs_of.get(own, ())
        needs = (*self.clause.needs, *self.mark.needs, *of_parameters, *self.argument_needs)
        return tuple(dict.fromkeys(needs))

    @property
    def is_for_clients(self) -> bool:
        """True if the case tests a client; False if it tests a server."""
        return self.clause.role == CLIENT

    def is_selected_by(self, prefix: str) -> bool:
        """Return True if a prefix of a case id or clause id selects this case."""
        return is_below(self.id, prefix) or is_below(self.clause.id, prefix)


def make_instance(
    function: Callable[..., Observation],
    mark: CaseMark,
    *,
    parameter_id: str,
    parameters: Mapping[str, object],
    catalogue: Catalogue,
) -> Instance:
    """Bind a marked function to one set of parameters, and to its law in the catalogue.

    Raises:
        UsageFault: the case names an unknown clause, or one without an accept set for the case,
            or takes an argument that no session of its protocol provides.
    """
    names = tuple(inspect.signature(function).parameters)
    case_id = "/".join(part for part in (mark.id, parameter_id, mark.place) if part)
    clause, law = _bind_law(case_id, mark, catalogue, place_of(function))
    arguments = tuple(name for name in names if name not in parameters)
    part = kit_part(protocol_of(case_id))
    if unknown := [name for name in arguments if name not in part.arguments]:
        known = ", ".join(part.arguments) or "none"
        raise UsageFault(
            f"case {mark.id} ({place_of(function)}) takes {unknown[0]!r}, which is no argument of "
            f"its protocol's KitPart; it has {known}"
        )
    known_needs = part.needs
    return Instance(
        id=case_id,
        title=(inspect.getdoc(function) or "").partition("\n")[0],
        mark=mark,
        clause=clause,
        law=law,
        function=function,
        parameters=parameters,
        arguments=arguments,
        argument_needs=tuple(known_needs[name] for name in arguments if name in known_needs),
    )


def describe_raised(error: BaseException, instance: Instance) -> str:
    """Return a sentence on an error that a case raised, with the place of it in the code.

    Of a case of another package, the place is the last line that was run in that package.
    """
    package = package_of(Group.SUITES, protocol_of(instance.id))
    if package is None:
        where = traceback.extract_tb(error.__traceback__)[-1]
        last = traceback.format_exception_only(error)[-1].strip()
        return f"{last} ({where.name}, line {where.lineno})"
    root = _root(instance)
    told = describe_mistake(error, root)
    # The path to the package is the author's own, and bundles are passed on.
    told = told[told.find(root) + 1 :] if root in told else told
    return f"package {package}: {told}"


def describe_returned(found: object, instance: Instance) -> str:
    """Return a sentence on a case that returned something else than an observation."""
    name = inspect.unwrap(instance.function).__code__.co_name
    package = package_of(Group.SUITES, protocol_of(instance.id))
    whose = f"package {package}" if package else f"case {instance.id}"
    returned = "nothing (is a `return` missing?)" if found is None else repr(found)[:60]
    return (
        f"{whose}: expected an Observation from {name}, {place_of(instance.function)}; "
        f"it returned {returned}"
    )


def describe_stuck(thread: int | None, instance: Instance) -> str:
    """Return ``FILE, line N`` where the thread of a case is, in the package of its protocol."""
    frame = sys._current_frames().get(thread or 0)  # pyright: ignore[reportPrivateUsage]
    root = _root(instance)
    for each in reversed(traceback.extract_stack(frame) if frame else ()):
        _, found, path = each.filename.rpartition(root)
        if found:
            return f"{(root + path).lstrip(os.sep)}, line {each.lineno}"
    return ""


def _root(instance: Instance) -> str:
    """Return the folder of the top-level package of a case, as it stands in a path."""
    return f"{os.sep}{instance.function.__module__.partition('.')[0]}{os.sep}"


def place_of(function: Callable[..., object]) -> str:
    """Return ``PACKAGE/FILE.py, line N`` of a function."""
    code = inspect.unwrap(function).__code__
    return f"{function.__module__.replace('.', '/')}.py, line {code.co_firstlineno}"


def _bind_law(
    case_id: str, mark: CaseMark, catalogue: Catalogue, place: str
) -> tuple[Clause, Law]:
    clause = catalogue.clause(mark.clause)
    if clause is None:
        near = _nearest(mark.clause, [each.id for each in catalogue.clauses()])
        raise UsageFault(
            f"case {mark.id} ({place}) names clause {mark.clause}, which no catalogue has{near}"
        )
    found = catalogue.find_law(case_id)
    if found is None or found[0].id != mark.clause:
        near = _nearest(case_id, [law.id for law in clause.case])
        raise UsageFault(
            f"case {case_id} ({place}) has no accept set in the catalogue's clause "
            f"{mark.clause}{near}"
        )
    return found


def _nearest(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def known_ids(instances: Iterable[Instance]) -> list[str]:
    """Return the ids of cases; an id ends in a slash if the target determines its last part."""
    return [_known_id(instance) for instance in instances]


def _known_id(instance: Instance) -> str:
    several = kit_part(protocol_of(instance.id)).several
    takes = {*instance.arguments, *instance.parameters}
    return f"{instance.mark.id}/" if takes & several.keys() else instance.id


@functools.cache
def _source(function: Callable[..., Observation]) -> str:
    return inspect.getsource(function)
