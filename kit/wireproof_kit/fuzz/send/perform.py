"""Performs single cases on a target, for tests that other projects write with Hypothesis."""

from collections.abc import Generator as Yields
from contextlib import contextmanager
from dataclasses import dataclass

from wireproof_kit.fuzz.campaign.target import open_fuzz_session
from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.driver import Choice, FuzzSessionOptions
from wireproof_kit.fuzz.generate.generator import Generator
from wireproof_kit.fuzz.generate.grammar import Grammar
from wireproof_kit.fuzz.send.engine import Engine
from wireproof_kit.protocols import read_target


class RuleViolated(AssertionError):
    """A broker violated a rule; the message names the rule and what happened."""


@dataclass(frozen=True, slots=True)
class CaseTarget:
    """A target for property-based tests, with topics created for it that `grammar` names."""

    grammar: Grammar
    engine: Engine
    hazardous: bool

    def perform(self, case: Case) -> None:
        """Send a case on new connections, then check that other clients are not disturbed.

        A hazardous case is skipped unless the target was opened with `hazardous`.

        Raises:
            RuleViolated: an answer was wrong or missing, or another client was disturbed.
        """
        if case.hazardous and not self.hazardous:
            return
        try:
            found = self.engine.perform([case], watch=False)
        finally:
            self.engine.close()
        if found:
            raise RuleViolated(f"{found[0].trouble.violated}: {found[0].trouble.words}")


@contextmanager
def open_target(
    url: str, *, token: str = "fuzz", hazardous: bool = False
) -> Yields[CaseTarget, None, None]:
    """Open a target; what is created there has the token in its name and is deleted at the end.

    Raises:
        UsageFault: the URL is invalid, or its protocol cannot be fuzzed.
        TargetUnreachable: the target accepts no connection.
        TargetSilent: the target does not speak its protocol.
    """
    fuzz_session = open_fuzz_session(read_target(url), FuzzSessionOptions(token))
    try:
        generation = fuzz_session.generation(Choice(seed=0))
        assert isinstance(generation, Generator), "cases are not drawn unless asked for"
        yield CaseTarget(generation.grammar, Engine(fuzz_session, generation), hazardous)
    finally:
        fuzz_session.close()
