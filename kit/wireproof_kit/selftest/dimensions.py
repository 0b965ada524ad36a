"""Dimensions: a fault of each rule in each corner where the rule can be broken alone.

A rule may also be broken where two corners meet, such as the last partition over HTTP.
"""

import tomllib
from collections.abc import Iterator, Sequence
from itertools import combinations
from zlib import crc32

import msgspec

from wireproof_kit.errors import KitError
from wireproof_kit.selftest.plan import FAULT, Trial
from wireproof_spec.clauses.catalogue import Clause, is_below
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.protocol import find_protocol

TABLE = "dimensions.toml"
ROLES = ("broker", "server")
AT = "@"
BETWEEN = "+"
CANDIDATES = 5
# A fault that is wrong in one case only, or too late, is thin already: cornered it breaks nothing.
PLAIN = ("missing", "wrong-value", "extra")


class Dimension(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something that can differ while a rule stays the same, such as the path; with its values."""

    title: str
    values: tuple[str, ...]


class Dimensions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The dimensions of a protocol, and which of them matter to which clauses, by id prefix.

    ``pairs`` are prefixes of the clauses that are also broken where two corners meet.
    """

    dimension: dict[str, Dimension] = {}
    matters: dict[str, tuple[str, ...]] = {}
    pairs: tuple[str, ...] = ()

    def corners(self, clause: str) -> list[str] | None:
        """Return each `dimension=value` that matters to a clause; None if no entry covers it."""
        covering = [prefix for prefix in self.matters if is_below(clause, prefix)]
        if not covering:
            return None
        words = self.matters[max(covering, key=len)]
        return [corner for word in words for corner in self._values(word)]

    def meetings(self, clause: str) -> list[str]:
        """Return each `dimension=value+dimension=value` of two dimensions that matter together."""
        if not any(is_below(clause, prefix) for prefix in self.pairs):
            return []
        return [
            BETWEEN.join(pair)
            for pair in combinations(self.corners(clause) or (), 2)
            if pair[0].partition("=")[0] != pair[1].partition("=")[0]
        ]

    def _values(self, word: str) -> Iterator[str]:
        name, equals, value = word.partition("=")
        if name not in self.dimension:
            raise KitError(f"{TABLE} has no dimension {name!r}")
        known = self.dimension[name].values
        if equals and value not in known:
            raise KitError(f"{TABLE}: dimension {name} has no value {value!r}")
        yield from (f"{name}={each}" for each in ((value,) if equals else known))


def read_dimensions(protocol: str) -> Dimensions:
    """Return the dimensions of a protocol; none if it has no table."""
    path = find_protocol(protocol).folder() / TABLE
    if not path.is_file():
        return Dimensions()
    return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Dimensions)


def judged_clauses(protocol: str) -> list[Clause]:
    """Return the must clauses for brokers that have cases."""
    clauses = load_catalogue(protocol).clauses()
    return [
        clause
        for clause in clauses
        if clause.level == "must" and clause.role in ROLES and clause.status == "tested"
    ]


def corner_trials(protocol: str, faults: Sequence[Trial]) -> tuple[Trial, ...]:
    """Return a trial of each must clause under each `dimension=value` that matters to it.

    The fault of a trial is one of the clause's own, limited to those circumstances. The clause's
    next faults are tried if it was not seen there: it may do nothing, such as one that is wrong
    with odd bodies only.
    """
    dimensions = read_dimensions(protocol)
    return tuple(
        _trial(clause.id, corner, faults)
        for clause in judged_clauses(protocol)
        for corner in dimensions.corners(clause.id) or ()
    )


def meeting_trials(protocol: str, faults: Sequence[Trial]) -> tuple[Trial, ...]:
    """Return a trial of each clause about messages wherever two corners meet."""
    dimensions = read_dimensions(protocol)
    return tuple(
        _trial(clause.id, corner, faults)
        for clause in judged_clauses(protocol)
        for corner in dimensions.meetings(clause.id)
    )


def _trial(clause: str, corner: str, faults: Sequence[Trial]) -> Trial:
    own = [fault for fault in faults if clause in fault.breaks and fault.kind == FAULT]
    if not own:
        raise KitError(f"no fault breaks {clause}, so none can break it at {corner}")
    turn = crc32(f"{clause}{corner}".encode()) % len(own)
    ranked = sorted(own[turn:] + own[:turn], key=lambda each: each.way not in PLAIN)
    others = [word for each in ranked for word in (*each.breaks, *each.may_break)]
    names = tuple(f"{each.name}{AT}{corner}" for each in ranked[:CANDIDATES])
    return Trial(
        f"{clause}{AT}{corner}",
        FAULT,
        names[:1],
        breaks=(clause,),
        may_break=tuple(dict.fromkeys(word for word in others if word != clause)),
        text=f"Only where {corner}: {ranked[0].text}",
        way="corner",
        every=False,
        candidates=names,
    )
