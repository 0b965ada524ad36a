"""Reads the steps of one case, whatever it asks, and judges what the client did beside it."""

from collections.abc import Iterator

from wireproof_kit.clients.story import Story
from wireproof_kit.ledger.outcomes import Finding
from wireproof_kit.nsq.clients.decoder import NsqDecoder
from wireproof_kit.nsq.clients.events import MADE_BY_CASE
from wireproof_kit.nsq.clients.rules.answers import AnswerChecks
from wireproof_kit.nsq.clients.rules.handed import HandedChecks
from wireproof_kit.nsq.clients.rules.published import PublishedChecks
from wireproof_kit.nsq.clients.rules.subscribed import SubscribedChecks
from wireproof_kit.wire.transcript import Step


class CaseChecks:
    """All rules that hold for what a client of NSQ does on its connections together."""

    def __init__(self) -> None:
        self._story = Story(NsqDecoder())
        self._answers = AnswerChecks(self._story)
        self._checks = (
            PublishedChecks(self._story),
            self._answers,
            SubscribedChecks(self._story),
            HandedChecks(self._story),
        )

    def see(self, step: Step) -> Iterator[Finding]:
        """Yield which clauses the events that a step completes show to be kept or broken."""
        if step.note == MADE_BY_CASE:
            self._answers.leave(step.connection)
        for event in self._story.add(step):
            for checks in self._checks:
                yield from checks.see(event)
