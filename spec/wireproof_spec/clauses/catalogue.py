"""The catalogue: clauses, accept sets, readings and capabilities, read from TOML.

A clause is one sentence of law. For each of its cases it lists the observations that conform,
those that decide nothing, and those that conform only under a named reading of an ambiguous
sentence. All other observations deviate.
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal, TypeVar, get_args

import msgspec

from wireproof_spec.clauses.origin import Origin, Premise

Level = Literal["must", "should", "may", "observed"]
Status = Literal["tested", "not yet tested", "not testable"]

CLIENT = "client"
"""The role of clauses and capabilities that bind clients; all others bind who serves them."""
BROKER = "broker"
"""Whom the other clauses bind, where both sides are judged."""
PROXY = "proxy"
"""The role of a target through which traffic passes, between a client and a broker."""
PASSING = "/passing/"
"""Stands between protocol and clause in the id of what passing traffic shows of a clause.

In a run, a slash and the way follow, such as ``again+http``."""


def is_way(case_id: str) -> bool:
    """Return True if an id is that of a clause and a way of messages, not of a case."""
    return "/" in case_id.partition(PASSING)[2]


LEVELS: tuple[Level, ...] = get_args(Level)

_OPEN_KINDS = frozenset({"response", "inconclusive", "kit-error"})
"""Kinds of observations whose words are a target's text, or the kit's own."""
_UNSPECIFIC = frozenset({"wrong", "undecodable", "other-layout"})
_LAYOUT = "layout-"
"""How a word begins that names the layout in which bytes came: whichever clause shows it, it is
one fault of a target, although cases about malformed input take any delivery."""


class Law(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The accept sets of one case, or of all cases whose ids begin with the `id` of the law.

    Observations that match ``accept`` conform; ``undecided`` ones are inconclusive. ``sends`` and
    ``expects`` say what the title of the case and the accept sets do not.
    ``reading`` maps decision → reading → patterns that conform under that reading only.
    """

    id: str
    sends: str = ""
    expects: str = ""
    accept: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()
    reading: dict[str, dict[str, tuple[str, ...]]] = {}


class Clause(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """One sentence of law with its level, its origin, and the accept sets of its cases.

    ``words`` are literal quotations from a section of a document, which is that of the group
    unless the origin is ``base``. A clause that quotes nothing names the section it is about.
    ``rules`` are numbers under which captured documents refer to a clause.
    """

    id: str
    level: Level
    origin: Origin
    role: str
    since: int
    section: str
    law: str
    observed: str
    status: Status
    words: tuple[str, ...] = ()
    premise: Premise | None = None
    rules: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    core: bool = False
    why: str = ""
    document: str = ""
    case: tuple[Law, ...] = ()

    @functools.cached_property
    def group(self) -> str:
        """The clause id without its last word: document and subject, such as ``ext.publish``."""
        return self.id.rpartition(".")[0]

    @property
    def side(self) -> str:
        """Whom the clause binds: ``client``, or ``broker`` for all others."""
        return CLIENT if self.role == CLIENT else BROKER


class Group(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The clauses of one subject, from one TOML file."""

    group: str
    document: str
    title: str
    clause: tuple[Clause, ...] = ()


class Option(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One permitted reading of an ambiguous sentence, and the probe observations that show it."""

    name: str
    meaning: str
    shown_by: tuple[str, ...] = ()
    peers: tuple[str, ...] = ()


class Decision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An ambiguous sentence and its permitted readings; each run binds one for its target."""

    id: str
    text: str
    scope: tuple[str, ...]
    probe: str
    option: tuple[Option, ...]

    @property
    def published(self) -> str:
        """The name of the reading that the text itself has: `published`, or else the first one."""
        names = [option.name for option in self.option]
        return "published" if "published" in names else names[0]

    def find_shown(self, observation: str) -> str | None:
        """Return the name of the reading that a probe's observation shows, or None."""
        for option in self.option:
            if matches(observation, option.shown_by):
                return option.name
        return None


class Capability(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A capability a target may have, the probe that shows it, and what the user must provide.

    The capability is absent only if none of the ``witnesses``, other probes of it, shows it: a
    target must not hide a fault with one wrong answer. If it is not shown, the cases that need it
    are unsupported. They are left out instead if ``left_out`` gives a reason, or if the user did
    not provide ``given_by``. ``helped_by`` are target keys of which any lets the kit make what
    the probe needs, where it found no way. Observations in ``small_by`` only mean that the
    deployment is too small for it: one node, one lookup server. Only targets of its ``role`` are
    asked for it.
    """

    id: str
    title: str
    probe: str
    shown_by: tuple[str, ...]
    absent_by: tuple[str, ...] = ()
    small_by: tuple[str, ...] = ()
    given_by: str = ""
    helped_by: tuple[str, ...] = ()
    left_out: str = ""
    role: str = ""
    optional: bool = False
    witnesses: tuple[str, ...] = ()


class Way(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What can be unusual in how a message came that is judged in any case."""

    id: str
    title: str


class Catalogue(msgspec.Struct, frozen=True, dict=True):
    """All clauses, decisions and capabilities of one protocol.

    ``revisions`` maps each document to the revision of its clauses. Revisions up to ``withdrawn``
    have been withdrawn.
    """

    protocol: str
    revisions: dict[str, int]
    groups: tuple[Group, ...]
    decisions: tuple[Decision, ...]
    capabilities: tuple[Capability, ...]
    withdrawn: int = 0
    ways: tuple[Way, ...] = ()

    def clauses(self) -> Iterator[Clause]:
        """Return all clauses in the order of the files."""
        for group in self.groups:
            yield from group.clause

    def clause(self, clause_id: str) -> Clause | None:
        """Return the clause with this id, or None."""
        return self._by_id.get(clause_id)

    def find_law(self, case_id: str) -> tuple[Clause, Law] | None:
        """Return the clause of a case with the accept sets of the case, by the case id alone.

        This is the law with the longest id that begins the case id, even if the case had another
        clause once.
        """
        _, is_passing, shown = case_id.partition(PASSING)
        if is_passing:
            clause = self.clause(shown.partition("/")[0])
            return None if clause is None else (clause, Law(case_id, accept=("conforms",)))
        while case_id and case_id not in self._by_law:
            case_id = case_id[: max(case_id.rfind("/"), case_id.rfind("."), 0)]
        return self._by_law.get(case_id)

    def find_ways(self, case_id: str) -> tuple[Way, ...]:
        """Return what is unusual on the way that ends the id; nothing if it has no such way.

        Raises:
            KeyError: the catalogue has no such way.
        """
        way = case_id.partition(PASSING)[2].partition("/")[2]
        known = {each.id: each for each in self.ways}
        return tuple(known[name] for name in way.split("+") if name)

    @functools.cached_property
    def _by_id(self) -> dict[str, Clause]:
        return {clause.id: clause for clause in self.clauses()}

    @functools.cached_property
    def _by_law(self) -> dict[str, tuple[Clause, Law]]:
        return {law.id: (clause, law) for clause in self.clauses() for law in clause.case}

    def for_target(self, *, is_client: bool) -> "Catalogue":
        """Return the catalogue with only the clauses for clients, or only all other clauses."""
        return self._for_clients if is_client else self._for_others

    @functools.cached_property
    def _for_clients(self) -> "Catalogue":
        return self._narrow(lambda role: role == CLIENT)

    @functools.cached_property
    def _for_others(self) -> "Catalogue":
        return self._narrow(lambda role: role != CLIENT)

    def _narrow(self, fits: Callable[[str], bool]) -> "Catalogue":
        groups = (
            msgspec.structs.replace(
                group, clause=tuple(clause for clause in group.clause if fits(clause.role))
            )
            for group in self.groups
        )
        return msgspec.structs.replace(
            self,
            groups=tuple(group for group in groups if group.clause),
            capabilities=tuple(
                capability for capability in self.capabilities if fits(capability.role)
            ),
        )

    def decision(self, decision_id: str) -> Decision | None:
        """Return the decision with this id, or None."""
        return _with_id(self.decisions, decision_id)

    def capability(self, capability_id: str) -> Capability | None:
        """Return the capability with this id, or None."""
        return _with_id(self.capabilities, capability_id)

    def flaw(self, observation: str) -> str:
        """Return the part of an observation that names a fault and conforms in no case; else "".

        ``trace:little-endian`` is the same fault of a target whichever clause it breaks, whereas
        ``error:E_INVALID`` is right in one case and wrong in another.
        """
        return next((part for part in observation.split(",") if self._is_flaw(part)), "")

    def _is_flaw(self, part: str) -> bool:
        kind, named, what = part.partition(":")
        if not named or kind in _OPEN_KINDS or what in _UNSPECIFIC:
            return False
        if what.startswith(_LAYOUT):
            return True
        right = self._right_words.get(kind, frozenset())
        # Of answers, a case wants a certain one or any at all; which are faults, its case decides.
        is_answer = any("*" in word for word in right) and any("*" not in word for word in right)
        return not is_answer and what not in right

    @functools.cached_property
    def _right_words(self) -> Mapping[str, frozenset[str]]:
        """By kind, the words of all patterns by which a case conforms or decides nothing."""
        laws = [law for clause in self.clauses() for law in clause.case]
        patterns = [pattern for law in laws for pattern in (*law.accept, *law.undecided)]
        for law in laws:
            for readings in law.reading.values():
                patterns += [each for accepted in readings.values() for each in accepted]
        words: dict[str, set[str]] = {}
        for part in (part for pattern in patterns for part in pattern.split(",")):
            kind, named, what = part.partition(":")
            if named:
                words.setdefault(kind, set()).add(what)
        return {kind: frozenset(known) for kind, known in words.items()}


Entry = TypeVar("Entry", Decision, Capability)


def matches(observation: str, patterns: Iterable[str]) -> bool:
    """Return True if an observation matches a pattern (`*`: any text without a comma)."""
    return any(_fits(observation, pattern) for pattern in patterns)


def level_rank(level: str) -> int:
    """Return the rank of a level: 0 for must, then should, may, observed, and unknown ones."""
    names: tuple[str, ...] = LEVELS
    return names.index(level) if level in names else len(names)


def is_below(identifier: str, prefix: str) -> bool:
    """Return True if an id equals a prefix, or continues it after a separator (`/` or `.`)."""
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
