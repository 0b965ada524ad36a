"""What an upgrade does to a topic."""

from typing import Protocol


class TopicKind(Protocol):
    """Whether a topic has the extend feature, and whether it had it from the start."""

    @property
    def extend(self) -> bool:
        """Tell whether it has the feature now."""

    @property
    def born_extend(self) -> bool:
        """Tell whether it was created with it."""


class Upgradable(Protocol):
    """A topic that can get the extend feature."""

    def upgrade(self) -> None:
        """Have the feature from now on."""


def extend(topic: Upgradable) -> None:
    """Give a topic the extend feature; its records stay as they are.

    Clause: ext.upgrade.accept
    """
    topic.upgrade()
