"""The two ways to generate cases: frames mutated many times, or each case drawn by Hypothesis."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from wireproof_kit.errors import UsageFault
from wireproof_kit.fuzz.driver import Choice, Generation
from wireproof_kit.fuzz.generate.conversations import CONVERSATION
from wireproof_kit.fuzz.generate.drawn_cases import DrawnCases
from wireproof_kit.fuzz.generate.generator import Generator, NothingChosen, check_frame
from wireproof_kit.fuzz.generate.grammar import Grammar
from wireproof_kit.fuzz.oracle.http_owed import HTTP, NO_HTTP


class MakeCases(Protocol):
    """Makes the generation of a seed, for the chosen kinds of frames and states."""

    def __call__(
        self, grammar: Grammar, seed: int, *, frames: Sequence[str], states: Sequence[str]
    ) -> Generation:
        """Return the generation.

        Raises:
            ValueError: there is no such frame, or the frame is never sent in such a state.
        """
        ...


def make_generation(
    grammar: Grammar, choice: Choice, *, usual: MakeCases = Generator
) -> Generation:
    """Return the generator of the chosen fuzz cases; ``usual`` makes it unless all are drawn.

    Raises:
        UsageFault: the grammar has no frame or state of a chosen name.
    """
    kind: MakeCases = DrawnCases if choice.drawn else usual
    try:
        left, frames = _without(grammar, choice)
        return kind(left, choice.seed, frames=frames, states=choice.states)
    except ValueError as error:
        told = str(error)
        if isinstance(error, NothingChosen) and choice.excluded:
            states = " or ".join(choice.states)
            told = (
                f"--frames and --exclude-frames leave no frame that is sent in the state {states}"
            )
        raise UsageFault(told) from error


def make_reachable(grammar: Grammar, choice: Choice, *, http: bool) -> Generation:
    """Return the generator of the chosen cases; without ``http``, of those over the main port.

    Raises:
        UsageFault: as `make_generation`.
    """
    if http:
        return make_generation(grammar, choice)
    kinds = tuple(kind for kind in grammar.kinds if kind.interface != HTTP)
    states = {name: each for name, each in grammar.states.items() if name != HTTP}
    try:
        return make_generation(replace(grammar, kinds=kinds, states=states), choice)
    except UsageFault as error:
        raise UsageFault(f"{error}; left out are {NO_HTTP}") from error


def check_choice(grammar: Grammar, choice: Choice) -> None:
    """Check that a grammar has frames and states of the chosen names.

    Raises:
        UsageFault: as `make_generation`.
    """
    make_generation(grammar, replace(choice, drawn=False))


def _without(grammar: Grammar, choice: Choice) -> tuple[Grammar, tuple[str, ...]]:
    """Return the grammar without the excluded kinds, and the frames chosen of it.

    Raises:
        ValueError: no kind begins so, or none is left.
    """
    for each in choice.excluded:
        check_frame(grammar, each)
    kinds = tuple(k for k in grammar.kinds if not k.name.startswith(choice.excluded or ("\0",)))
    left = replace(grammar, kinds=kinds)
    if not kinds:
        raise ValueError("--exclude-frames leaves no frame kind to send")
    talks = not any(CONVERSATION.startswith(each) for each in choice.excluded)
    return left, choice.frames if talks or choice.frames else tuple(names_of(left))


def names_of(grammar: Grammar) -> list[str]:
    """Return the names of all kinds of frames in a grammar."""
    return [kind.name for kind in grammar.kinds]
