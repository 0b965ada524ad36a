"""What the commands need to know of a topic's kind."""

from typing import Protocol


class TopicKind(Protocol):
    """Whether a topic has the extend feature, since when, and what was there before."""

    @property
    def extend(self) -> bool:
        """Tell whether it has the feature now."""
        ...

    @property
    def born_extend(self) -> bool:
        """Tell whether it was created with it."""
        ...

    @property
    def old_messages(self) -> int:
        """Return how many messages it had when it was upgraded."""
        ...
