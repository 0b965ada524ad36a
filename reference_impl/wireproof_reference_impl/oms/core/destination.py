"""A destination: partitions, the messages in them, and the groups that consume them."""

from wireproof_reference_impl.oms.behaviour import Behaviour
from wireproof_reference_impl.oms.core.due_queue import DueQueue
from wireproof_reference_impl.oms.core.group import Group
from wireproof_reference_impl.oms.core.message import Message
from wireproof_reference_impl.oms.core.ready_queue import Arrival


class Destination:
    """A queue or topic. Each group of consumers gets every message of it."""

    def __init__(self, name: str, behaviour: Behaviour, *, partitions: int) -> None:
        self.name = name
        self.partitions = partitions
        self._behaviour = behaviour
        self._turn = 0
        self._waiting = DueQueue[Message]()
        self._arrived: list[Arrival] = []
        self._groups: dict[str, Group] = {}

    @property
    def next_due(self) -> int | None:
        """Return when the next message is due, or comes back to a group; None if there is none."""
        times = [self._waiting.next_due, *(group.next_due for group in self._groups.values())]
        return min((time for time in times if time is not None), default=None)

    @property
    def group_count(self) -> int:
        """Return the number of groups."""
        return len(self._groups)

    def next_turn(self) -> int:
        """Return a number that grows with each call, to spread messages over partitions."""
        self._turn += 1
        return self._turn - 1

    def add(self, message: Message) -> None:
        """Store a message; it arrives in its partition when it is due."""
        self._waiting.add(message.due, message)

    def group(self, name: str) -> Group:
        """Return a consumer group; a new one gets every message that has arrived before it."""
        if name not in self._groups:
            self._groups[name] = Group(self._behaviour, partitions=self.partitions)
            if self._behaviour.new_groups_get_all:
                self._groups[name].offer(self._arrived)
        return self._groups[name]

    def advance(self, now: int) -> None:
        """Let the messages arrive that are due."""
        for message in self._waiting.take_due(now):
            arrival = Arrival(len(self._arrived), message)
            self._arrived.append(arrival)
            for group in self._groups.values():
                group.offer([arrival])
        for group in self._groups.values():
            group.take_back(now)
