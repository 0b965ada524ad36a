"""What an experiment saw: a short canonical value, never an opinion."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place where what came differs from what was due.

    ``offset`` counts bytes from the start of the frame, record or body that ``field`` lies in.
    """

    field: str
    offset: int | None
    expected: str
    found: str


@dataclass(frozen=True, slots=True)
class Observation:
    """A case's result: ``kind[:detail][,after-state]``.

    ``overdue`` says that an answer or delivery owed by the target did not come within
    patience; a control round trip then decides whether the target or the machine was slow.
    """

    value: str
    overdue: bool = False
    difference: Difference | None = None
    note: str = ""

    def then(self, after_state: str) -> "Observation":
        """Return the same observation with the connection's after-state behind it."""
        return replace(self, value=f"{self.value},{after_state}")


def observed(
    value: str, *, overdue: bool = False, difference: Difference | None = None, note: str = ""
) -> Observation:
    """Name what was seen."""
    return Observation(value=value, overdue=overdue, difference=difference, note=note)
