"""A Hypothesis state machine that writes conversations and performs them."""

from collections.abc import Callable, Sequence

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.generate.conversations import MOST_CONNECTIONS, Script
from wireproof_kit.fuzz.generate.grammar import Grammar, Kind
from wireproof_kit.fuzz.generate.seed_frames import KindStates, seed_frame
from wireproof_kit.fuzz.generate.strategies import breaks

Perform = Callable[[Case], None]
"""Sends a case; raises an error if the target violates a rule."""


class ConversationMachine(RuleBasedStateMachine):
    """A Hypothesis state machine that composes a fuzz case of several frames.

    A model of the states says which frames each connection allows. The case is sent at the end. If
    that raises an error, Hypothesis shrinks the rules to the fewest that still raise it.
    """

    grammar: Grammar
    perform: Perform
    script: Script

    @initialize(data=st.data(), count=st.integers(1, MOST_CONNECTIONS))
    def begin(self, data: st.DataObject, count: int) -> None:
        """Start a case with one to three connections in one state."""
        start = data.draw(st.sampled_from(self.grammar.states[self.grammar.talking]))
        self.script = Script(self.grammar, start, [start] * count)

    @precondition(lambda self: not self.script.is_over)
    @rule(data=st.data())
    def say_what_is_due(self, data: st.DataObject) -> None:
        """Add a valid frame that the state of the connection allows."""
        connection = self._connection(data)
        self._say(data, connection, [k for k in self._kinds() if self._is_due(connection, k)])

    @precondition(lambda self: not self.script.is_over)
    @rule(data=st.data())
    def say_what_is_not_due(self, data: st.DataObject) -> None:
        """Add a valid frame that the state of the connection does not allow."""
        connection = self._connection(data)
        self._say(data, connection, [k for k in self._kinds() if not self._is_due(connection, k)])

    @precondition(lambda self: not self.script.is_over)
    @rule(data=st.data())
    def say_something_broken(self, data: st.DataObject) -> None:
        """Add a malformed frame."""
        connection = self._connection(data)
        kind = data.draw(st.sampled_from(self._kinds()))
        frame = data.draw(kind.strategy)
        prepared = seed_frame(self.grammar, kind, KindStates((), ()), frame)
        mutant, how = data.draw(breaks(prepared, self.grammar))
        self.script.say_broken(connection, kind, mutant, how)

    @precondition(lambda self: self.script.is_over)
    @rule()
    def say_no_more(self) -> None:
        """Do nothing: no connection can be used any more."""

    def teardown(self) -> None:
        """Send the composed case to the target."""
        if hasattr(self, "script") and self.script.steps:
            type(self).perform(self.script.case(0))

    def _kinds(self) -> list[Kind]:
        return [kind for kind in self.grammar.kinds if kind.interface == self.grammar.talking]

    def _connection(self, data: st.DataObject) -> int:
        return data.draw(st.sampled_from(self.script.going_on()))

    def _is_due(self, connection: int, kind: Kind) -> bool:
        return self.script.is_due(connection, kind)

    def _say(self, data: st.DataObject, connection: int, kinds: Sequence[Kind]) -> None:
        if kinds:
            kind = data.draw(st.sampled_from(kinds))
            self.script.say(connection, kind, data.draw(kind.strategy))


def conversation_machine(grammar: Grammar, perform: Perform) -> type[ConversationMachine]:
    """Return the Hypothesis state machine for a grammar; `perform` sends the composed case.

    Run it with `hypothesis.stateful.run_state_machine_as_test`, or give its `TestCase` to pytest.
    """
    members = {"grammar": grammar, "perform": staticmethod(perform)}
    return type("Conversation", (ConversationMachine,), members)
