"""The topic properties that commands depend on."""

from typing import Protocol


class TopicKind(Protocol):
    """The interface that tells whether a topic has the extend feature, and since when."""

    @property
    def extend(self) -> bool:
        """Return True if the topic has the extend feature now."""
        ...

    @property
    def born_extend(self) -> bool:
        """Return True if the topic was created with the extend feature."""
        ...

    @property
    def old_messages(self) -> int:
        """Return how many messages the topic had when it was upgraded."""
        ...
