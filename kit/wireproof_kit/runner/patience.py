"""How long to wait, by the kind of wait; measured per target, scaled by one option."""

import os
from dataclasses import dataclass, replace
from enum import Enum


class Wait(Enum):
    """What is being waited for."""

    ANSWER = "answer"
    PUSH = "push"
    REDELIVERY = "redelivery"


BUSY_LIMIT = 4.0

ANSWER = Wait.ANSWER
PUSH = Wait.PUSH
REDELIVERY = Wait.REDELIVERY


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds granted to each kind of wait.

    ``in_rounds``: the target looks for due messages now and then, more seldom on a busy machine.
    """

    answer: float
    push: float
    redelivery: float
    in_rounds: bool = False

    def seconds(self, wait: Wait) -> float:
        """Return the budget of one wait in seconds."""
        budgets = {
            Wait.ANSWER: self.answer,
            Wait.PUSH: self.push,
            Wait.REDELIVERY: self.redelivery,
        }
        return budgets[wait]

    def cut(self, factor: float) -> "Patience":
        """Return a shorter patience."""
        return replace(
            self,
            answer=self.answer * factor,
            push=self.push * factor,
            redelivery=self.redelivery * factor,
        )


def machine_load() -> float:
    """Return how many times slower than idle this machine may be now; 1 to 4."""
    waiting = os.getloadavg()[0] / (os.cpu_count() or 1)
    return min(max(waiting, 1.0), BUSY_LIMIT)
