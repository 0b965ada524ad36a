"""What an upgrade does to a topic."""

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


class Upgradable(Protocol):
    """A topic that can get the extend feature."""

    @property
    def message_count(self) -> int:
        """Return how many messages it has."""
        ...

    def upgrade(self) -> None:
        """Have the feature from now on."""


def extend(topic: Upgradable) -> None:
    """Give a topic the extend feature; its records stay as they are.

    Clause: ext.upgrade.accept
    """
    topic.upgrade()
