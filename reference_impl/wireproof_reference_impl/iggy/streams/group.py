"""A consumer group: its members, and which partitions each of them reads."""

from wireproof_reference_impl.iggy.wire import status
from wireproof_reference_impl.iggy.wire.status import Refusal


class Member:
    """A member of a consumer group, with the partitions it reads in turn."""

    def __init__(self, client: int) -> None:
        self.client = client
        self.partitions: list[int] = []
        self.current = 0
        self._next = 0

    def assign(self) -> None:
        """Remove all partitions from the member, before they are distributed again."""
        self.partitions, self.current, self._next = [], 0, 0

    def take_turn(self) -> int:
        """Return the partition to read next; 0 if there is none."""
        if not self.partitions:
            return 0
        self.current = self.partitions[self._next]
        self._next = (self._next + 1) % len(self.partitions)
        return self.current


class Group:
    """A consumer group of a topic; its members get partitions in the order of joining."""

    def __init__(self, number: int, topic: int, partitions: int) -> None:
        self.id = number
        self.partitions = partitions
        self.members: dict[int, Member] = {}
        self._topic = topic

    def join(self, client: int) -> None:
        """Add a client as a member; a client that is one already starts its turn again."""
        self.members[client] = Member(client)
        self.deal(self.partitions)

    def leave(self, client: int) -> None:
        """Remove a client from the members."""
        if self.members.pop(client, None) is not None:
            self.deal(self.partitions)

    def deal(self, partitions: int) -> None:
        """Distribute this number of partitions among the members."""
        self.partitions = partitions
        members = list(self.members.values())
        for member in members:
            member.assign()
        for number in range(partitions if members else 0):
            members[number % len(members)].partitions.append(number + 1)

    def member(self, client: int) -> Member:
        """Return the member with this client id.

        Raises:
            Refusal: no member has that id.
        """
        if client not in self.members:
            raise Refusal(
                status.CONSUMER_GROUP_MEMBER_NOT_FOUND,
                f"Consumer group member with ID: {client} for group with ID: {self.id} "
                f"for topic with ID: {self._topic} was not found.",
            )
        return self.members[client]
