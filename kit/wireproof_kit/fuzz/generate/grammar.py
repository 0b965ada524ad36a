"""The grammar that a protocol provides to generate cases: frame kinds, states, frame ends."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from hypothesis.strategies import SearchStrategy

from wireproof_kit.fuzz.case import Frame, Step
from wireproof_kit.fuzz.generate.traps.json_members import Members
from wireproof_kit.fuzz.generate.traps.text_traps import Trap, Traps


def never(frame: Frame) -> bool:
    """Return False for every frame: none is calm (see `Kind`)."""
    return False


def always(frame: Frame) -> bool:
    """Return True for every frame: all are calm (see `Kind`)."""
    return True


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of frame: a strategy for valid frames, and the states that allow them.

    `interface` is ``tcp`` or ``http``, for example. A valid frame is calm (`is_calm`) if it has
    one undisputed answer and leaves the connection in its state.
    """

    name: str
    interface: str
    strategy: SearchStrategy[Frame] = field(repr=False)
    states: tuple[str, ...]
    is_calm: Callable[[Frame], bool] = field(default=never, repr=False)


@dataclass(frozen=True, slots=True)
class Grammar:
    """The requests of a protocol, for the names that exist on a target.

    `states` lists all states by interface; `entry` has the steps that enter each state. Cases with
    several frames use the interface `talking`. `is_delimited` returns True if bytes sent as a kind
    of frame leave no doubt where the next frame begins; `is_hazardous`, if they may affect objects
    that the kit did not create. `beating` maps a state to the one that also asks for the shortest
    intervals that a broker grants, for connections that are held open. `exercises` are what the
    kit's other clients can do during a case. `moves` returns the state after a valid frame,
    whether the state before allows it or not; None if the connection may end. `limits` are numbers
    that matter to a field, by its path pattern; `traps` are texts that the protocol's readers may
    misread. `members` has, by frame kind, special values for the members of its JSON documents.
    """

    kinds: tuple[Kind, ...]
    states: Mapping[str, tuple[str, ...]]
    entry: Mapping[str, tuple[Step, ...]]
    talking: str
    is_delimited: Callable[[str, bytes], bool]
    is_hazardous: Callable[[str, bytes], bool]
    moves: Callable[[str, Frame], str | None]
    limits: Mapping[str, tuple[int, ...]]
    traps: Traps = field(default_factory=dict[str, Mapping[str, Trap]])
    beating: Mapping[str, str] = field(default_factory=dict[str, str])
    exercises: tuple[str, ...] = ()
    members: Mapping[str, Members] = field(default_factory=dict[str, Members])

    def start(self, state: str) -> str | None:
        """Return the initial state on the interface of `state`, if a new connection has one."""
        state = next((plain for plain, twin in self.beating.items() if twin == state), state)
        return next(
            (
                each
                for there in self.states.values()
                if state in there
                for each in there
                if not self.entry[each]
            ),
            None,
        )
