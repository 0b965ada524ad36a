"""The catalogue: clauses, accept sets, readings and capabilities, read from TOML.

A clause is one sentence of law. For each case of it stands what conforms, what decides nothing,
and what conforms only under a named reading of an ambiguous sentence; all else deviates.
"""

import functools
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, TypeVar

import msgspec

from wireproof_spec.protocol import find_protocol
from wireproof_spec.record import Level

Status = Literal["tested", "not yet tested", "not testable"]

LEVELS: tuple[Level, ...] = ("must", "should", "may", "observed")

T = TypeVar("T")


class CatalogueFault(Exception):
    """The catalogue contradicts itself; an error of ours, told in one sentence."""


class Law(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is accepted of one case, or of all cases below its id.

    ``reading`` maps decision → reading → patterns that conform under that reading only.
    """

    id: str
    sends: str
    expects: str
    accept: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()
    reading: dict[str, dict[str, tuple[str, ...]]] = {}


class Clause(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One sentence of law, its level, where it stands, and the accept sets of its cases."""

    id: str
    level: Level
    role: str
    since: int
    section: str
    words: str
    law: str
    observed: str
    status: Status
    needs: tuple[str, ...] = ()
    core: bool = False
    why: str = ""
    document: str = ""
    case: tuple[Law, ...] = ()

    @property
    def group(self) -> str:
        """The first two words of the id: document and subject."""
        return ".".join(self.id.split(".")[:2])


class Group(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The clauses of one subject; one TOML file."""

    group: str
    document: str
    title: str
    clause: tuple[Clause, ...] = ()


class Option(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One legal way to understand a sentence, and the probe results that show it."""

    name: str
    meaning: str
    shown_by: tuple[str, ...] = ()
    peers: tuple[str, ...] = ()


class Decision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A place where the text leaves a choice; bound once per run for a target."""

    id: str
    text: str
    scope: tuple[str, ...]
    probe: str
    option: tuple[Option, ...]

    @property
    def published(self) -> str:
        """The reading that counts as the text's own: `published`, or else the first."""
        names = [option.name for option in self.option]
        return "published" if "published" in names else names[0]

    def shown(self, observation: str) -> str | None:
        """Return the reading that a probe's observation shows, or None."""
        for option in self.option:
            if matches(observation, option.shown_by):
                return option.name
        return None


class Capability(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something a target may offer, the probe that shows it, what a user must give for it.

    Where it is not shown, cases that need it are unsupported; or they are left out, with
    ``left_out`` for the reason, or because the user did not give ``given_by``.
    """

    id: str
    title: str
    probe: str
    shown_by: tuple[str, ...]
    absent_by: tuple[str, ...] = ()
    given_by: str = ""
    left_out: str = ""


class Catalogue(msgspec.Struct, frozen=True, dict=True):
    """All law of one protocol."""

    protocol: str
    revisions: dict[str, int]
    groups: tuple[Group, ...]
    decisions: tuple[Decision, ...]
    capabilities: tuple[Capability, ...]

    def clauses(self) -> Iterator[Clause]:
        """Return every clause in the order of the files."""
        for group in self.groups:
            yield from group.clause

    def clause(self, clause_id: str) -> Clause | None:
        """Return the clause of that id, or None."""
        return self._by_id.get(clause_id)

    @functools.cached_property
    def _by_id(self) -> dict[str, Clause]:
        return {clause.id: clause for clause in self.clauses()}

    def decision(self, decision_id: str) -> Decision | None:
        """Return the decision of that id, or None."""
        return _with_id(self.decisions, decision_id)

    def capability(self, capability_id: str) -> Capability | None:
        """Return the capability of that id, or None."""
        return _with_id(self.capabilities, capability_id)

    def law(self, clause_id: str, case_id: str) -> Law | None:
        """Return the accept sets of a case: those with the longest id that begins it."""
        clause = self.clause(clause_id)
        if clause is None:
            return None
        fitting = [law for law in clause.case if is_below(case_id, law.id)]
        return max(fitting, key=lambda law: len(law.id), default=None)


Entry = TypeVar("Entry", Decision, Capability)


class _Decisions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    reading: tuple[Decision, ...]


class _Capabilities(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    capability: tuple[Capability, ...]


class _Revisions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    revision: dict[str, int]


@functools.cache
def load_catalogue(protocol: str) -> Catalogue:
    """Read and cross-check a protocol's catalogue.

    Raises:
        CatalogueFault: a file does not fit its schema, or an id is unknown or stands twice.
        UnknownProtocol: no installed package registers the protocol.
    """
    folder = find_protocol(protocol).folder() / "catalogue"
    texts = {
        item.name: item.read_text(encoding="utf-8")
        for item in folder.iterdir()
        if item.name.endswith(".toml")
    }
    catalogue = Catalogue(
        protocol=protocol,
        revisions=_read(texts, "revisions.toml", _Revisions).revision,
        groups=tuple(_read_groups(texts)),
        decisions=_read(texts, "readings.toml", _Decisions).reading,
        capabilities=_read(texts, "capabilities.toml", _Capabilities).capability,
    )
    for fault in faults(catalogue):
        raise CatalogueFault(fault)
    return catalogue


def faults(catalogue: Catalogue) -> Iterator[str]:
    """Say where a catalogue contradicts itself, one sentence each."""
    seen: set[str] = set()
    for clause in catalogue.clauses():
        yield from _clause_faults(catalogue, clause, seen)
    for decision in catalogue.decisions:
        if not decision.option:
            yield f"decision {decision.id} has no reading"


def matches(observation: str, patterns: Iterable[str]) -> bool:
    """Tell whether an observation fits one of the patterns (`*`: any run without a comma)."""
    return any(_fits(observation, pattern) for pattern in patterns)


def is_below(identifier: str, prefix: str) -> bool:
    """Tell whether an id equals a prefix or continues it at a separator (`/` or `.`)."""
    if identifier == prefix or not prefix:
        return True
    return identifier.startswith(prefix) and identifier[len(prefix)] in "/."


def _fits(text: str, pattern: str) -> bool:
    """Return True if the text is the pattern with each `*` replaced by text without a comma.

    Takes time in proportion to the text, also for patterns out of somebody else's bundle, for
    which a regular expression may take exponential time. The first place of a piece is always the
    right one: a later place is behind a comma, or leaves less room for no gain.
    """
    first, *rest = pattern.split("*")
    if not rest:
        return text == pattern
    if not text.startswith(first):
        return False
    at = len(first)
    for piece in rest[:-1]:
        found = text.find(piece, at)
        if found < 0 or text.find(",", at, found) >= 0:
            return False
        at = found + len(piece)
    end = len(text) - len(rest[-1])
    return end >= at and text.endswith(rest[-1]) and text.find(",", at, end) < 0


def _with_id(things: Iterable[Entry], wanted: str) -> Entry | None:
    return next((thing for thing in things if thing.id == wanted), None)


def _read(texts: Mapping[str, str], name: str, kind: type[T]) -> T:
    try:
        return msgspec.convert(tomllib.loads(texts[name]), kind)
    except (KeyError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise CatalogueFault(f"catalogue file {name}: {error}") from error


def _read_groups(texts: Mapping[str, str]) -> Iterator[Group]:
    others = {"revisions.toml", "readings.toml", "capabilities.toml", "accounting.toml"}
    for name in sorted(set(texts) - others):
        group = _read(texts, name, Group)
        clauses = tuple(
            msgspec.structs.replace(clause, document=group.document) for clause in group.clause
        )
        yield msgspec.structs.replace(group, clause=clauses)


def _clause_faults(catalogue: Catalogue, clause: Clause, seen: set[str]) -> Iterator[str]:
    if clause.id in seen:
        yield f"clause {clause.id} stands twice"
    seen.add(clause.id)
    if clause.status != "tested" and not clause.why:
        yield f"clause {clause.id} is {clause.status} without saying why"
    for need in clause.needs:
        if catalogue.capability(need) is None:
            yield f"clause {clause.id} needs an unknown capability {need}"
    for law in clause.case:
        yield from _law_faults(catalogue, clause, law)


def _law_faults(catalogue: Catalogue, clause: Clause, law: Law) -> Iterator[str]:
    if not (law.accept or law.reading):
        yield f"case {law.id} of {clause.id} accepts nothing"
    for decision_id, readings in law.reading.items():
        decision = catalogue.decision(decision_id)
        known = {option.name for option in decision.option} if decision else set[str]()
        for name in set(readings) - known:
            yield f"case {law.id} of {clause.id} uses an unknown reading {decision_id}={name}"
