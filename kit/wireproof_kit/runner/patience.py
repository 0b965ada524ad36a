"""How long to wait, by the kind of wait; measured per target, scaled by one option."""

import os
from dataclasses import dataclass, replace
from enum import Enum


class Wait(Enum):
    """What is being waited for."""

    ANSWER = "answer"
    PUSH = "push"
    REDELIVERY = "redelivery"
    SETTLING = "settling"


BUSY_LIMIT = 4.0
# A case is given up after two minutes: it must have seen before that its wait was in vain.
SETTLING_MOST = 80.0

ANSWER = Wait.ANSWER
PUSH = Wait.PUSH
REDELIVERY = Wait.REDELIVERY
SETTLING = Wait.SETTLING


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds granted to each kind of wait.

    ``settling`` is for what several nodes have to agree on, such as a leader: no text says how
    soon they must, and measured clusters took 30 s under load. It is ``redelivery`` unless given.
    ``in_rounds``: the target looks for due messages now and then, more seldom on a busy machine.
    """

    answer: float
    push: float
    redelivery: float
    in_rounds: bool = False
    settling: float | None = None

    def seconds(self, wait: Wait) -> float:
        """Return the budget of one wait in seconds."""
        budgets = {
            Wait.ANSWER: self.answer,
            Wait.PUSH: self.push,
            Wait.REDELIVERY: self.redelivery,
            Wait.SETTLING: self.redelivery if self.settling is None else self.settling,
        }
        return budgets[wait]

    def cut(self, factor: float) -> "Patience":
        """Return a shorter patience."""
        return replace(
            self,
            answer=self.answer * factor,
            push=self.push * factor,
            redelivery=self.redelivery * factor,
            settling=self.seconds(SETTLING) * factor,
        )

    def settling_seconds(self) -> float:
        """Return how long several nodes may take to agree, longer on a busy machine."""
        seconds = self.seconds(SETTLING)
        return max(seconds, min(seconds * machine_load(), SETTLING_MOST))


def machine_load() -> float:
    """Return how many times slower than idle this machine may be now; 1 to 4."""
    waiting = os.getloadavg()[0] / (os.cpu_count() or 1)
    return min(max(waiting, 1.0), BUSY_LIMIT)
