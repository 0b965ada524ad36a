"""What one run of a case has sent and polled so far, over both transports."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from wireproof_kit.iggy.apache import rules
from wireproof_kit.iggy.apache.asked import OfConsumer, Sent
from wireproof_kit.iggy.apache.partitions import Before, Partition
from wireproof_kit.iggy.apache.rules import Content
from wireproof_kit.ledger.entries import BOUND, Fate, Place
from wireproof_kit.ledger.outcomes import Finding, Outcomes, count_broken
from wireproof_kit.wire.transcript import Step
from wireproof_spec.iggy.apache.batch import MessageFrame
from wireproof_spec.iggy.apache.bodies.messages import GetConsumerOffset, PollMessages
from wireproof_spec.iggy.bodies.identifier import Identifier
from wireproof_spec.iggy.kinds import AUTO_COMMIT, CONSUMER_KIND, FIRST, LAST, NEXT, TIMESTAMP

Topic: TypeAlias = int | str
"""The number of a topic; its name, if its number is not known."""

_STRATEGY_WAYS: Final = {
    TIMESTAMP: "by-timestamp",
    FIRST: "by-first",
    LAST: "by-last",
    NEXT: "by-next",
}


class Known:
    """The topics, messages and polls of one run of a case, and where its findings go."""

    def __init__(self, case: str, outcomes: Outcomes) -> None:
        self._outcomes = outcomes
        self._case = case
        self._topics: dict[str, int] = {}
        self._sent: dict[Topic, list[Sent]] = {}
        self._partitions: dict[tuple[Hashable, int], Partition] = {}
        self._keys: dict[tuple[Topic, bytes], int] = {}
        self._mixed: set[Topic] = set()
        """Topics of which there may be two of one number: in two streams, or one after another."""
        self.has_odd_deltas = False
        self.are_all_known = True
        """Whether every message that the server was given is known here."""
        self.at = Place(case, Step(0, "", "note"))

    def see(self, step: Step) -> None:
        """Note which step is read."""
        self.at = Place(self._case, step)

    def add(
        self, findings: Iterable[Finding], way: Iterable[str] = (), evidence: Sequence[Place] = ()
    ) -> None:
        """Add what this step shows."""
        for finding in findings:
            self._outcomes.add(finding, way, evidence or (self.at,))

    def topic(self, topic: Identifier) -> Topic:
        """Return which topic an identifier names."""
        if topic.name is None:
            return topic.number or 0
        return self._topics.get(topic.name, topic.name)

    def add_topic(self, name: str, number: int) -> None:
        """Note a topic that was made."""
        if number in self._topics.values():
            self._mixed.add(number)
        self._topics[name] = number

    def forget_topics(self) -> None:
        """Note that topics may have been deleted, or made unseen."""
        self._mixed.update(self._topics.values())

    def partition(self, topic: Hashable, number: int) -> Partition:
        """Return what is known of a partition."""
        return self._partitions.setdefault((topic, number), Partition())

    def before(self, asked: OfConsumer, *, over_http: bool = False) -> Before | None:
        """Return what is known of a consumer, if its topic was made in this case."""
        topic = self.topic(asked.topic)
        is_own = topic in self._topics.values() and topic not in self._mixed
        if not is_own or asked.consumer.kind != CONSUMER_KIND:
            return None
        changes = not isinstance(asked, GetConsumerOffset)
        if isinstance(asked, PollMessages):
            changes = asked.auto_commit == AUTO_COMMIT
        partition = self.partition(topic, asked.partition.partition_id)
        return partition.before(asked.consumer, changes=changes, over_http=over_http)

    def keep(self, topic: Topic, entries: Sequence[Sent]) -> None:
        """Keep messages that the server was given."""
        self._sent.setdefault(topic, []).extend(entries)

    def find(self, topic: Topic, partition: int, number: int, payload: bytes) -> Sequence[Sent]:
        """Return the messages that may explain a polled one: those of its id, or its payload."""
        near = [
            entry
            for entry in self._sent.get(topic, ())
            if entry.content.partition in (None, partition)
        ]
        same = [entry for entry in near if entry.content.frame.id == number]
        if same or not self.are_all_known:
            return same
        return [entry for entry in near if entry.content.frame.payload == payload]

    def judge_best(
        self,
        entries: Sequence[Sent],
        judge: Callable[[Content], Iterator[Finding]],
        way: frozenset[str],
    ) -> None:
        """Judge a polled message by the entry that explains it best, if all of them may."""
        if not entries or not all(each.fate in (*BOUND, Fate.AWAITED) for each in entries):
            return
        judged = [(entry, [*judge(entry.content)]) for entry in entries]
        entry, findings = min(judged, key=lambda each: count_broken(each[1]))
        self.add(findings, way | entry.way, entry.evidence(self.at))

    def judge_once(
        self, topic: Topic, partition: Partition, offset: int, frame: MessageFrame
    ) -> Iterator[Finding]:
        """Judge a message that is polled for the first time: where it was confirmed, and once."""
        if not frame.id or topic in self._mixed or not self.are_all_known:
            return
        sent = [each for each in self._sent.get(topic, ()) if each.content.frame.id == frame.id]
        if len(sent) != 1 or sent[0].fate is not Fate.ACCEPTED:
            return
        again = [at for at, each in partition.seen.items() if each.id == frame.id]
        note = f"offsets {again} and {offset} have the same message"
        yield rules.hold("send.order", not again, "offsets:other", note)
        due = [at for at, each in partition.places.items() if each.id == frame.id]
        if due and not again:
            note = f"{due[0]} in place of {offset}"
            yield rules.hold("send.confirm", due[0] == offset, "confirmed:other", note)

    def judge_place(
        self, topic: Topic, partition: int, number: int, payload: bytes
    ) -> Iterator[Finding]:
        """Judge the partition of a message: the one named, or that of others with its key."""
        if not number or topic in self._mixed:
            return
        same = [
            entry.content
            for entry in self._sent.get(topic, ())
            if entry.content.frame.id == number and entry.content.frame.payload == payload
        ]
        if same:
            yield from rules.judge_place(partition, same)
        key = same[0].key if len(same) == 1 else b""
        if key:
            due = self._keys.setdefault((topic, key), partition)
            yield rules.judge_key(due, partition)


def way_of(poll: PollMessages) -> Iterator[str]:
    """Yield what is unusual about a poll."""
    if poll.strategy in _STRATEGY_WAYS:
        yield _STRATEGY_WAYS[poll.strategy]
    if poll.auto_commit:
        yield "auto-commit"
    if poll.partition.partition_id:
        yield "other-partition"
