"""Brings a dead target back with the user's command."""

from collections.abc import Callable
from dataclasses import dataclass

from wireproof_kit.errors import RestartFailed
from wireproof_kit.runner.deaths.gate import Gate
from wireproof_kit.targets.session import Session, make_shared_again
from wireproof_kit.wire.waiting import until

ANSWERS_WITHIN_S = 60.0
"""Seconds after the restart command in which the target must answer; a large broker reads long."""


def accepts(session: Session) -> bool:
    """Return True if the target accepts a connection; a session may let a refusal through."""
    try:
        return session.is_alive()
    except ConnectionRefusedError:
        return False


@dataclass(frozen=True, slots=True)
class Recovery:
    """Restarts a dead target, waits until it answers, and has the session make topics again."""

    session: Session
    restart: Callable[[], bool]
    gate: Gate

    def bring_back(self) -> None:
        """Bring the target back. If that fails, no further case of the run may go.

        Raises:
            RestartFailed: the command failed, or the target does not answer in time.
        """
        try:
            self._restart()
        except RestartFailed as failed:
            self.gate.end(failed)
            raise
        make_shared_again(self.session)

    def _restart(self) -> None:
        if not self.restart():
            raise RestartFailed("--restart: the command failed, and the target is dead")
        # To accept a connection is not enough: brokers listen before they can answer.
        if until(self._answers, seconds=ANSWERS_WITHIN_S, given_up=self.gate.ended) is None:
            raise RestartFailed(
                "--restart: the command ended without a fault, but the target did not answer "
                f"within {ANSWERS_WITHIN_S:g} s; it must be started by CMD at the same address"
            )

    def _answers(self) -> bool | None:
        is_back = accepts(self.session) and self.session.control().state != "dead"
        return is_back or None
