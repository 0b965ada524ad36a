"""How long to wait, by the kind of wait; measured per target, scaled by one option."""

from dataclasses import dataclass
from enum import Enum


class Wait(Enum):
    """What is being waited for."""

    ANSWER = "answer"
    PUSH = "push"
    REDELIVERY = "redelivery"


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
