"""Reads a protocol's catalogue from TOML and checks that it does not contradict itself."""

import functools
import tomllib
from collections.abc import Iterator, Mapping
from importlib.resources.abc import Traversable
from pathlib import PurePath
from typing import TypeVar

import msgspec

from wireproof_spec.clauses.catalogue import (
    Capability,
    Catalogue,
    Clause,
    Decision,
    Group,
    Law,
    Way,
)
from wireproof_spec.clauses.origin import BINDING
from wireproof_spec.clauses.toml_lines import describe_fault
from wireproof_spec.protocol import UnknownProtocol, find_protocol

T = TypeVar("T")
_NO_GROUPS = {
    "revisions.toml",
    "readings.toml",
    "capabilities.toml",
    "accounting.toml",
    "ways.toml",
}
"""The files of a catalogue that hold no clauses."""


class CatalogueFault(Exception):
    """Raised if a catalogue does not fit its schema or contradicts itself.

    The error's text names the file, and the line where one can be named.
    """


class _Decisions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    reading: tuple[Decision, ...]


class _Capabilities(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    capability: tuple[Capability, ...]


class _Ways(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    way: tuple[Way, ...]


class _Revisions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    revision: dict[str, int]
    withdrawn: int = 0


@functools.cache
def load_catalogue(protocol: str) -> Catalogue:
    """Read a protocol's catalogue from its TOML files and check it.

    Raises:
        CatalogueFault: a file does not fit its schema, or an id is unknown or duplicate.
        UnknownProtocol: no installed package registers the protocol.
    """
    folder = find_protocol(protocol).folder() / "catalogue"
    if not folder.is_dir():
        raise CatalogueFault(f"catalogue of {protocol}: the folder {folder} is missing")
    texts = dict(read_texts(folder))

    def read(name: str, kind: type[T]) -> T:
        return _read(texts, str(folder / name), kind)

    revisions = read("revisions.toml", _Revisions)
    catalogue = Catalogue(
        protocol=protocol,
        revisions=revisions.revision,
        groups=tuple(_read_groups(texts)),
        decisions=read("readings.toml", _Decisions).reading,
        capabilities=read("capabilities.toml", _Capabilities).capability,
        withdrawn=revisions.withdrawn,
        ways=read("ways.toml", _Ways).way if str(folder / "ways.toml") in texts else (),
    )
    for fault in faults(catalogue):
        raise CatalogueFault(f"catalogue {folder}: {fault}")
    return catalogue


def named_fault(case: str, observation: str) -> str:
    """Return the fault that a case's observation names, as `Catalogue.flaw` does; else ""."""
    try:
        return load_catalogue(case.partition("/")[0]).flaw(observation)
    except UnknownProtocol:
        return ""


def faults(catalogue: Catalogue) -> Iterator[str]:
    """Yield the contradictions in a catalogue, one sentence each."""
    seen: set[str] = set()
    for clause in catalogue.clauses():
        yield from _clause_faults(catalogue, clause, seen)
    for decision in catalogue.decisions:
        if not decision.option:
            yield f"decision {decision.id} has no reading"


def is_above_origin(clause: Clause) -> bool:
    """Return True if a clause has a higher level than its origin permits.

    Only what a text, its base or a premise says is a must. What is only seen on real peers is
    observed at most, unless each case of the clause is judged by a reading that the target binds.
    """
    if clause.level == "must":
        return clause.origin not in BINDING
    read = bool(clause.case) and all(law.reading and not law.accept for law in clause.case)
    return clause.origin == "deployed" and clause.level != "observed" and not read


def read_texts(folder: Traversable) -> Iterator[tuple[str, str]]:
    """Yield name and text of each file of a catalogue; a folder in it has groups of its own."""
    for item in folder.iterdir():
        if item.is_dir():
            yield from read_texts(item)
        elif item.name.endswith(".toml"):
            yield str(item), item.read_text(encoding="utf-8")


def read_toml(text: str, name: str, kind: type[T]) -> T:
    """Return the value of a TOML text; ``name`` is that of its file, for messages.

    Raises:
        CatalogueFault: the text is no TOML, or does not fit the struct ``kind``.
    """
    try:
        return msgspec.convert(tomllib.loads(text), kind)
    except tomllib.TOMLDecodeError as error:
        raise CatalogueFault(f"{name}: {error}") from error
    except msgspec.ValidationError as error:
        raise CatalogueFault(f"{name}{describe_fault(error, text, kind)}") from error


def _read(texts: Mapping[str, str], name: str, kind: type[T]) -> T:
    if name not in texts:
        raise CatalogueFault(f"catalogue file {name} is missing")
    return read_toml(texts[name], f"catalogue file {name}", kind)


def _read_groups(texts: Mapping[str, str]) -> Iterator[Group]:
    for name in sorted(name for name in texts if PurePath(name).name not in _NO_GROUPS):
        group = _read(texts, name, Group)
        clauses = tuple(
            msgspec.structs.replace(clause, document=clause.document or group.document)
            for clause in group.clause
        )
        yield msgspec.structs.replace(group, clause=clauses)


def _clause_faults(catalogue: Catalogue, clause: Clause, seen: set[str]) -> Iterator[str]:
    if clause.id in seen:
        yield f"clause {clause.id} stands twice"
    seen.add(clause.id)
    if clause.status != "tested" and not clause.why:
        yield f"clause {clause.id} is {clause.status} without saying why"
    yield from _origin_faults(catalogue, clause)
    for need in clause.needs:
        if catalogue.capability(need) is None:
            yield f"clause {clause.id} needs an unknown capability {need}"
    for law in clause.case:
        yield from _law_faults(catalogue, clause, law)


def _origin_faults(catalogue: Catalogue, clause: Clause) -> Iterator[str]:
    quotes = clause.origin in ("text", "base")
    if quotes != bool(clause.words):
        found = "quotes no words" if quotes else "quotes words"
        yield f"clause {clause.id} has origin {clause.origin} and {found}"
    if (clause.origin == "premise") != (clause.premise is not None):
        found = f"names the premise {clause.premise}" if clause.premise else "names no premise"
        yield f"clause {clause.id} has origin {clause.origin} and {found}"
    if is_above_origin(clause):
        yield f"clause {clause.id} is {clause.level}, more than its origin {clause.origin} bears"
    published = {group.document for group in catalogue.groups}
    if (clause.origin == "base") == (clause.document in published):
        yield f"clause {clause.id} has origin {clause.origin} and quotes {clause.document}"


def _law_faults(catalogue: Catalogue, clause: Clause, law: Law) -> Iterator[str]:
    if not (law.accept or law.reading):
        yield f"case {law.id} of {clause.id} accepts nothing"
    for decision_id, readings in law.reading.items():
        decision = catalogue.decision(decision_id)
        known = {option.name for option in decision.option} if decision else set[str]()
        for name in set(readings) - known:
            yield f"case {law.id} of {clause.id} uses an unknown reading {decision_id}={name}"
