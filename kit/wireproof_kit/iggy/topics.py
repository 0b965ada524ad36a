"""The stream and topic that a case uses."""

from dataclasses import dataclass

from wireproof_spec.iggy.bodies.identifier import Identifier, make_named, numeric

FIRST_PARTITION = 1


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream of the target, by its number and the name requested for it."""

    number: int
    name: str

    @property
    def id(self) -> Identifier:
        """Return the stream's identifier by number."""
        return numeric(self.number)

    def apart(self) -> "Stream":
        """Return the stream with a name that is more than one character away from all others."""
        head, _, count = self.name.rpartition("_")
        return Stream(self.number, f"{head}-{count}")


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of a stream; its partitions are 1 to ``partitions``.

    A case uses ``partition`` unless it names another one, and polls from offset ``start``: earlier
    messages belong to other cases.
    """

    stream: Stream
    number: int
    name: str
    partitions: int
    partition: int = FIRST_PARTITION
    start: int = 0

    @property
    def id(self) -> Identifier:
        """Return the topic's identifier by number."""
        return numeric(self.number)

    @property
    def by_name(self) -> tuple[Identifier, Identifier]:
        """Return the identifiers of stream and topic by name."""
        return make_named(self.stream.name), make_named(self.name)

    @property
    def path(self) -> str:
        """Return the path of the topic in the HTTP API."""
        return f"/streams/{self.stream.number}/topics/{self.number}"
