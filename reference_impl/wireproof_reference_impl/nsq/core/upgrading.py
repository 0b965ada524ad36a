"""The topic properties that commands depend on."""

from typing import Protocol


class TopicKind(Protocol):
    """Whether and since when a topic has the extend feature, and the messages from before."""

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
        """Return how many messages it had when it was upgraded."""
        ...
