"""Conversations: frames in order, out of order and malformed, on several connections.

A model of the protocol's states says which frames are due on each connection. What they are owed
is decided by the oracle, as for every case.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from wireproof_kit.fuzz.case import Case, Frame, Step
from wireproof_kit.fuzz.generate.grammar import Grammar, Kind
from wireproof_kit.fuzz.generate.mutations import Mutant

CONVERSATION = "conversation"
"""The frame kind of cases that send several frames, in reports and the coverage table."""
IN_ORDER = "all in order"
OUT_OF_ORDER = "out of order"
BROKEN = "with broken frames"
MOST_CONNECTIONS = 3
MOST_STEPS = 12
FEWEST_STEPS = 3

Choose = Callable[[int], int]
"""Returns a number from 0 to one less than the given one; 0 is the simplest choice."""
Break = Callable[[int], tuple[Mutant, str]]
"""Mutates the frame with this index; returns the mutant and the mutation's name."""


@dataclass(slots=True)
class Script:
    """A fuzz case of several frames that is being composed, frame by frame.

    `states` has the expected state of each connection. It is None when the connection may have
    ended or its state is uncertain; nothing more is sent on it.
    """

    grammar: Grammar
    start: str
    states: list[str | None]
    steps: list[Step] = field(default_factory=list[Step])
    out_of_order: int = 0
    broken: int = 0
    hazardous: bool = False

    @property
    def is_over(self) -> bool:
        """Return True if no connection is left to send on."""
        return all(state is None for state in self.states)

    def going_on(self) -> list[int]:
        """Return the indices of the connections that can still be used."""
        return [number for number, state in enumerate(self.states) if state is not None]

    def is_due(self, connection: int, kind: Kind) -> bool:
        """Return True if a frame of this kind is allowed in the state of a connection."""
        return self.states[connection] in kind.states

    def say(self, connection: int, kind: Kind, frame: Frame) -> None:
        """Append a valid frame on a connection, whether its state allows the frame or not."""
        state = self.states[connection]
        assert state is not None, "the connection can go on"
        in_order = self.is_due(connection, kind)
        self.out_of_order += not in_order
        self.states[connection] = self.grammar.moves(state, frame)
        self._add(connection, kind, frame.data, "" if in_order else f" {OUT_OF_ORDER}")

    def say_broken(self, connection: int, kind: Kind, mutant: Mutant, how: str) -> None:
        """Append a malformed frame on a connection; `how` names its mutation.

        The connection stays usable if the broker can tell where the frame ends.
        """
        self.broken += 1
        if not self.grammar.is_delimited(kind.name, mutant.data):
            self.states[connection] = None
        self._add(connection, kind, mutant.data, f" {how}")

    def case(self, index: int) -> Case:
        """Return the frames so far as one fuzz case with this index."""
        count = len({step.connection for step in self.steps})
        mutation = BROKEN if self.broken else OUT_OF_ORDER if self.out_of_order else IN_ORDER
        many = f"{count} connection{'s' * (count > 1)}"
        return Case(
            index,
            self.start,
            CONVERSATION,
            many,
            mutation,
            tuple(self.steps),
            delimited=False,
            hazardous=self.hazardous,
        )

    def _add(self, connection: int, kind: Kind, data: bytes, how: str) -> None:
        self.hazardous = self.hazardous or self.grammar.is_hazardous(kind.name, data)
        label = f"{connection}: {kind.name}{how}"
        self.steps.append(Step(data, connection=connection, label=label))


def write_script(
    grammar: Grammar,
    frames: Sequence[tuple[Kind, Frame]],
    broken: Break,
    *,
    starts: Sequence[str],
    choose: Choose,
) -> Script:
    """Compose a conversation of the given frames; most are sent in a state that allows them."""
    count = 1 + choose(MOST_CONNECTIONS)
    start = starts[choose(len(starts))]
    script = Script(grammar, start, [start] * count)
    for _ in range(FEWEST_STEPS + choose(MOST_STEPS - FEWEST_STEPS + 1)):
        there = script.going_on()
        if not there:
            break
        connection = there[choose(len(there))]
        turn = choose(8)
        due = [
            number
            for number, (kind, _) in enumerate(frames)
            if script.is_due(connection, kind) or turn == 7
        ]
        if not due:
            break
        which = due[choose(len(due))]
        kind, frame = frames[which]
        if turn == 6:
            mutant, how = broken(which)
            script.say_broken(connection, kind, mutant, how)
        else:
            script.say(connection, kind, frame)
    return script
