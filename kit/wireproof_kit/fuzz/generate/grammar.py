"""What making cases needs of a protocol: the kinds of its frames, its states, where frames end."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from hypothesis.strategies import SearchStrategy

from wireproof_kit.fuzz.case import Frame, Step
from wireproof_kit.fuzz.generate.text_traps import Trap, Traps


def never(frame: Frame) -> bool:
    """Tell of no frame that it is calm."""
    return False


def always(frame: Frame) -> bool:
    """Tell of every frame that it is calm."""
    return True


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of frame: what draws right ones, and in which states one is in order.

    `interface` is the way in, such as ``tcp`` or ``http``. A right frame that `is_calm` has one
    answer that nobody disputes, and leaves the connection in its state.
    """

    name: str
    interface: str
    strategy: SearchStrategy[Frame] = field(repr=False)
    states: tuple[str, ...]
    is_calm: Callable[[Frame], bool] = field(default=never, repr=False)


@dataclass(frozen=True, slots=True)
class Grammar:
    """The requests of a protocol for the names that are there on a target.

    `states` are all there are, by interface; `entry` is what brings a connection into one.
    Conversations are held over the interface `talking`. `is_delimited` tells of bytes sent as a
    kind of frame whether the next frame's beginning is known; `is_hazardous`, whether they may
    touch what is not the kit's own. `moves` says which state a right frame leads to, in order or
    not; None when it may be the connection's end. `limits` are numbers that matter to a field,
    by its pattern; `traps` are texts that its readers may take for something else.
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
