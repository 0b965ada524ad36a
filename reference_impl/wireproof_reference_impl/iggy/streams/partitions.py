"""The partitions of a topic: there may be many, with few in use."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from wireproof_reference_impl.iggy.streams.partition import Partition

Make = Callable[[int], Partition]


class Partitions(Mapping[int, Partition]):
    """The partitions of a topic, from 1 on without gaps; each is opened when it is first used.

    A client may create a hundred thousand at a time, and others must not wait for that. `opened`
    are those that were written or looked up; all others are empty.
    """

    def __init__(self, open_one: Make, blank: Make, *, used: Iterable[int] = (), count: int = 0):
        self.opened = {number: open_one(number) for number in used}
        self._open_one = open_one
        self._blank = blank
        self._count = max((count, *self.opened))

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[int]:
        return iter(range(1, self._count + 1))

    def __getitem__(self, number: int) -> Partition:
        if not 1 <= number <= self._count:
            raise KeyError(number)
        found = self.opened.get(number)
        if found is None:
            found = self.opened[number] = self._open_one(number)
        return found

    def resize(self, count: int) -> None:
        """Set the number of partitions: add empty ones, or remove the highest."""
        for number in [each for each in self.opened if each > count]:
            del self.opened[number]
        self._count = count

    def list_opened(self) -> Iterator[Partition]:
        """Yield all partitions for reading, without opening unused ones."""
        for number in self:
            yield self.opened.get(number) or self._blank(number)

    @property
    def size(self) -> int:
        """Return the total size of the messages in all partitions, in bytes."""
        return sum(each.size for each in self.opened.values())

    @property
    def messages(self) -> int:
        """Return the total number of messages in all partitions."""
        return sum(each.count for each in self.opened.values())

    @property
    def segments(self) -> int:
        """Return the total number of segments in all partitions; an empty partition has one."""
        opened = sum(len(each.segments) for each in self.opened.values())
        return opened + self._count - len(self.opened)
