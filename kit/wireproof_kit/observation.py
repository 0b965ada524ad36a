"""The result of a case: a short canonical value without a verdict."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Difference:
    """The first position where the received value differs from the expected one.

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
    ``starved`` says that the machine was: the target was kept from running.
    """

    value: str
    overdue: bool = False
    difference: Difference | None = None
    note: str = ""
    starved: bool = False

    def then(self, after_state: str) -> "Observation":
        """Return the observation with the connection's state appended."""
        return replace(self, value=f"{self.value},{after_state}")


def observed(
    value: str, *, overdue: bool = False, difference: Difference | None = None, note: str = ""
) -> Observation:
    """Return an observation with this value."""
    return Observation(value=value, overdue=overdue, difference=difference, note=note)
