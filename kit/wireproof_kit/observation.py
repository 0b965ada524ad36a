"""The result of a case: a short canonical value without a verdict."""

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from wireproof_spec.clauses.spoken import spoken


@dataclass(frozen=True, slots=True)
class Difference:
    """The first position where a received value differs from the expected one.

    ``offset`` counts bytes from the start of the frame, record or body that contains ``field``.
    """

    field: str
    offset: int | None
    expected: str
    found: str


class Recorded(Protocol):
    """An answer or delivery with the index of the transcript's step that recorded it."""

    @property
    def step(self) -> int | None:
        """Return the index; None if the bytes were not recorded."""
        ...


UNCOMPARED = "inconclusive:comparison"
P = ParamSpec("P")
R = TypeVar("R", bound=Recorded | None)


@dataclass(frozen=True, slots=True)
class Observation:
    """The result of a case, before it is judged; ``value`` is ``kind[:detail][,after-state]``.

    ``overdue``: an answer or delivery that the target had to send did not arrive within patience;
    a control round trip then decides whether the target or the machine was slow. ``starved``: the
    machine was slow, because other programs kept the target from running. ``evidence`` are the
    indexes of the transcript's steps on which the observation rests.
    """

    value: str
    overdue: bool = False
    difference: Difference | None = None
    note: str = ""
    starved: bool = False
    evidence: tuple[int, ...] = ()

    def on(self, *sources: Recorded | None) -> "Observation":
        """Return the observation as one that rests on these answers or deliveries."""
        steps = (source.step for source in sources if source is not None)
        return replace(self, evidence=tuple(step for step in steps if step is not None))

    def then(self, after_state: str) -> "Observation":
        """Return the observation with the state of the connection after the case appended."""
        return replace(self, value=f"{self.value},{after_state}")

    def describe(self, of: str = "") -> str:
        """Return the observation in words; ``of`` is a case id or a protocol."""
        return spoken(self.value, of)


def first_unlike(observations: Iterable[Observation], value: str) -> Observation:
    """Return the first observation that is not ``value``; its note says which one it is.

    If there is none, return the observation ``value``. Later observations are not made.
    """
    for number, observation in enumerate(observations, start=1):
        if observation.value != value:
            which = f"seen in comparison {number} of this case"
            note = f"{which}; {observation.note}" if observation.note else which
            return replace(observation, note=note)
    return Observation(value)


def uncompared(other: Observation, what: str) -> Observation | None:
    """Return that a comparison decides nothing if its other half did not come; None if it came.

    ``what`` names that half: ``the answer to PUB``. What is late or silent there says nothing of
    the half that the case is about.
    """
    if not other.overdue:
        return None
    note = f"{what}, with which the case compares, did not come in time ({other.value})"
    return Observation(UNCOMPARED, note=note, evidence=other.evidence)


def compared(value: str, one: Observation, other: Observation) -> Observation:
    """Return an observation of two answers that rests on both; its note is that of the first."""
    return Observation(value, note=one.note, evidence=(*one.evidence, *other.evidence))


def with_evidence(
    observe: Callable[Concatenate[R, P], Observation],
) -> Callable[Concatenate[R, P], Observation]:
    """Let a function's observation rest on its first argument, unless it names its evidence."""

    @functools.wraps(observe)
    def observe_first(first: R, /, *args: P.args, **kwargs: P.kwargs) -> Observation:
        seen = observe(first, *args, **kwargs)
        return seen if seen.evidence else seen.on(first)

    return observe_first


def observed(
    value: str, *, overdue: bool = False, difference: Difference | None = None, note: str = ""
) -> Observation:
    """Return an observation with this value."""
    return Observation(value=value, overdue=overdue, difference=difference, note=note)
