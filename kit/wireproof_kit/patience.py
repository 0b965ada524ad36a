"""How long to wait, by the kind of wait; measured per target, scaled by one option."""

import os
from dataclasses import dataclass
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
    """Seconds granted to each kind of wait."""

    answer: float
    push: float
    redelivery: float

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
        return Patience(self.answer * factor, self.push * factor, self.redelivery * factor)


def machine_load() -> float:
    """Return how many times slower than idle this machine may be now; 1 to 4."""
    waiting = os.getloadavg()[0] / (os.cpu_count() or 1)
    return min(max(waiting, 1.0), BUSY_LIMIT)
