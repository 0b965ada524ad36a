"""The two ways to generate cases: frames mutated many times, or each case drawn by Hypothesis."""

from wireproof_kit.errors import UsageFault
from wireproof_kit.fuzz.driver import Choice, Generation
from wireproof_kit.fuzz.generate.drawn_cases import DrawnCases
from wireproof_kit.fuzz.generate.generator import Generator
from wireproof_kit.fuzz.generate.grammar import Grammar


def make_generation(grammar: Grammar, choice: Choice) -> Generation:
    """Return the generation of the chosen cases.

    Raises:
        UsageFault: the grammar has no frame or state of a chosen name.
    """
    kind = DrawnCases if choice.drawn else Generator
    try:
        return kind(grammar, choice.seed, frames=choice.frames, states=choice.states)
    except ValueError as error:
        frames = ", ".join(each.name for each in grammar.kinds)
        states = ", ".join(grammar.entry)
        raise UsageFault(f"{error}; frames: {frames}; states: {states}") from error
