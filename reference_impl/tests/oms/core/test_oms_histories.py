"""Random histories of a broker: no message is lost, early, out of order, or delivered uncommitted.

Every history ends far in the future with every group receiving until nothing is left, so that a
message that went missing is missed.
"""

from collections import Counter
from collections.abc import Mapping
from typing import cast

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from oms_bench import FIRST_MS, Bench, attributes, body, part

from wireproof_reference_impl.oms.core.broker import Received
from wireproof_reference_impl.oms.core.documents import JsonObject
from wireproof_spec.strict_json import JsonValue

GROUPS = ("one", "two")
FAR = 1 << 50
DELAYS = st.sampled_from([None, 0, -5, 1, 30, 30_000, 2**62])
EXPIRES = st.sampled_from([None, None, -1, 0, 20, 31_000])
PRIORITIES = st.sampled_from([None, None, 1, 5, 10, 11])
KEYS = st.sampled_from([None, "a", "b"])
STEPS = st.sampled_from([1, 29, 30, 30_000])


class Known:
    """What the test knows of one message that was sent."""

    def __init__(self, number: int, now: int, sent: Mapping[str, JsonValue]) -> None:
        self.number = number
        self.born = now
        self.sent = sent
        self.due = now + max(cast(int, sent.get("delayTime", 0)), 0)
        self.partition: JsonValue = None
        self.deliveries = Counter[str]()
        self.open: dict[str, Received] = {}
        self.done: set[str] = set()

    @property
    def priority(self) -> int:
        sent = cast(int, self.sent.get("priority", 5))
        return sent if 1 <= sent <= 10 else 5

    @property
    def expires(self) -> int | None:
        expires = cast(int | None, self.sent.get("expireTime"))
        return None if expires is None or expires < self.due else expires

    def is_gone(self, now: int, group: str) -> bool:
        """Return True if the message may never be delivered to a group any more."""
        is_over = self.expires is not None and now >= self.expires
        return group in self.done or (is_over and not self.deliveries[group])


class Histories(RuleBasedStateMachine):
    """Moves of senders and consumers, each checked against what is known of the messages."""

    def __init__(self) -> None:
        super().__init__()
        self.known: list[Known] = []
        self.visible: set[int] = set()
        self.prepared: dict[str, list[Known]] = {}
        self.firsts: dict[tuple[str, JsonValue, int], int] = {}

    @initialize(partitions=st.integers(1, 3))
    def create(self, partitions: int) -> None:
        self.bench = Bench(partitions=partitions)

    @rule(delay=DELAYS, expires=EXPIRES, priority=PRIORITIES, key=KEYS)
    def send(
        self, delay: int | None, expires: int | None, priority: int | None, key: str | None
    ) -> None:
        known = self._new(delay, expires, priority, key)
        self._note(known, self.bench.send(known.sent, body=b"%d" % known.number))
        self.visible.add(known.number)

    @rule(delay=DELAYS, expires=EXPIRES, transaction=st.sampled_from(["x", "y"]))
    def prepare(self, delay: int | None, expires: int | None, transaction: str) -> None:
        known = self._new(delay, expires, None, None, transaction=transaction)
        self._note(known, self.bench.prepare(known.sent, body=b"%d" % known.number))
        self.prepared.setdefault(transaction, []).append(known)

    @precondition(lambda self: self.prepared)
    @rule(commits=st.booleans())
    def end(self, commits: bool) -> None:
        transaction = sorted(self.prepared)[0]
        messages = self.prepared.pop(transaction)
        if commits:
            self.bench.broker.commit(transaction)
            self.visible.update(known.number for known in messages)
        else:
            self.bench.broker.roll_back(transaction)

    @rule(step=STEPS)
    def wait(self, step: int) -> None:
        self.bench.now += step

    @rule(group=st.sampled_from(GROUPS), most=st.integers(1, 4))
    def receive(self, group: str, most: int) -> None:
        for received in self.bench.receive(group, most=most):
            self._take(group, received)

    @rule(group=st.sampled_from(GROUPS), rejects=st.booleans())
    def settle(self, group: str, rejects: bool) -> None:
        known = next((each for each in self.known if group in each.open), None)
        if known is not None:
            self._settle(known, group, rejects=rejects)

    def teardown(self) -> None:
        """Let everything become due, receive it all, and miss nothing."""
        for known in self.known:
            for group in [*known.open]:
                self._settle(known, group, rejects=True)
        self.bench.now = max(self.bench.now, FIRST_MS + 2**62) + FAR
        for group in GROUPS:
            for received in self.bench.receive(group):
                self._take(group, received)
        missing = [
            (known.number, group)
            for known in self.known
            for group in GROUPS
            if known.number in self.visible
            and not (known.is_gone(self.bench.now, group) or group in known.open)
        ]
        assert missing == []

    def _new(
        self,
        delay: int | None,
        expires: int | None,
        priority: int | None,
        key: str | None,
        *,
        transaction: str | None = None,
    ) -> Known:
        sent: dict[str, JsonValue | None] = {
            "delayTime": delay,
            "expireTime": expires and self.bench.now + expires,
            "priority": priority,
            "messageKey": key,
            "transactionId": transaction,
        }
        told = {name: value for name, value in sent.items() if value is not None}
        known = Known(len(self.known), self.bench.now, told)
        self.known.append(known)
        return known

    def _note(self, known: Known, document: JsonObject) -> None:
        known.partition = attributes(document)["partition"]
        assert part(document, "header")["bornTimestamp"] == known.born

    def _take(self, group: str, received: Received) -> None:
        known = self.known[int(body(received.document))]
        told = attributes(received.document)
        assert known.number in self.visible, "a message of an open or dropped transaction"
        assert known.due <= self.bench.now, "early"
        assert group not in known.open, "a second time without being rejected"
        assert not known.is_gone(self.bench.now, group), "done or expired"
        known.deliveries[group] += 1
        known.open[group] = received
        assert told["deliveryCount"] == known.deliveries[group]
        assert told["partition"] == known.partition
        assert {name: told[name] for name in known.sent if name != "priority"} == {
            name: value for name, value in known.sent.items() if name != "priority"
        }
        if known.deliveries[group] == 1 and known.due == known.born:
            self._check_order(group, known)

    def _check_order(self, group: str, known: Known) -> None:
        """Check that messages without delay come in the order in which they became visible."""
        if "transactionId" in known.sent:
            return
        queue = (group, known.partition, known.priority)
        assert self.firsts.get(queue, -1) < known.number, "out of order within its partition"
        self.firsts[queue] = known.number

    def _settle(self, known: Known, group: str, *, rejects: bool) -> None:
        received = known.open.pop(group)
        if rejects:
            self.bench.reject(received)
        else:
            self.bench.broker.acknowledge(received.receipt)
            known.done.add(group)


TestHistories = Histories.TestCase
