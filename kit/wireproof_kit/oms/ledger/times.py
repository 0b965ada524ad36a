"""The rules of content on times, which hold a message against the clock of its case.

A transcript counts microseconds from the start of a case. A bornTimestamp or a storeTimestamp
must lie in an interval of that clock, which bounds the time since 1970 at which the case started.
The intervals of all messages of a case must agree, and lie within a day of the start of the run.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from wireproof_kit.ledger.entries import Entry, Place
from wireproof_kit.ledger.outcomes import Finding
from wireproof_kit.observation import Difference
from wireproof_kit.oms.adapter.messages import Attributes, header_of
from wireproof_kit.oms.ledger.deliveries import Delivery
from wireproof_kit.oms.ledger.sends import Content
from wireproof_spec.oms import names
from wireproof_spec.strict_json import JsonValue

_DAY_MS: Final = 86_400_000.0
_TOLERANCE_MS: Final = 50.0
"""As the cases: two readings of one clock differ by rounding and by a thread that must wait."""
_HUGE_DELAY_MS: Final = 1 << 16
_LONGEST_AGE_MS: Final = 100_000_000_000
"""An expireTime below this one is an age of a message (three years) rather than a time."""
_UNITS: Final = {"seconds": 1e-3, "microseconds": 1e3, "nanoseconds": 1e6}


@dataclass(frozen=True, slots=True)
class RunClock:
    """The start of a run in milliseconds since 1970, and how exactly the clocks are known.

    ``ahead_ms`` are the milliseconds that the server's clock is ahead of the kit's.
    """

    started_ms: float
    ahead_ms: float = 0.0
    uncertain_ms: float = 0.0

    @property
    def tolerance_ms(self) -> float:
        """How much a time may lie outside its interval."""
        return _TOLERANCE_MS + self.uncertain_ms

    @property
    def slack_ms(self) -> float:
        """How much two times may differ of which one is the client's."""
        return self.tolerance_ms + abs(self.ahead_ms)


@dataclass(slots=True)
class _CaseClock:
    """The bounds of the time since 1970 at which a case started, by one clock."""

    low_ms: float
    high_ms: float

    def agrees(self, told_ms: int, first_us: int, last_us: int, tolerance_ms: float) -> bool:
        """Return True if a time can lie between two moments of the case, and narrow the bounds."""
        low, high = told_ms - last_us / 1000, told_ms - first_us / 1000
        if low > self.high_ms + tolerance_ms or high < self.low_ms - tolerance_ms:
            return False
        low, high = max(low, self.low_ms), min(high, self.high_ms)
        if low <= high:
            self.low_ms, self.high_ms = low, high
        return True


@dataclass(slots=True)
class Times:
    """Judges the times in the messages of a run."""

    run: RunClock
    _clocks: dict[tuple[str, str], _CaseClock] = field(
        default_factory=dict[tuple[str, str], _CaseClock]
    )

    def begin(self, case: str, started_ms: float) -> None:
        """Note when a case started, in milliseconds since 1970 by the server's clock."""
        bounds = {names.STORE_TIMESTAMP: 0.0, names.BORN_TIMESTAMP: abs(self.run.ahead_ms)}
        for name, slack in bounds.items():
            self._clocks[case, name] = _CaseClock(started_ms - slack, started_ms + slack)

    def judge(
        self, delivery: Delivery, entry: Entry[Content], claims: frozenset[str]
    ) -> Iterator[Finding]:
        """Judge bornTimestamp, storeTimestamp and delay of a delivered message."""
        born = self._judge_birth(delivery.header, delivery.at, entry)
        yield born
        if names.STORE_TIMESTAMP in claims:
            yield from self._judge_storing(delivery, entry, born)
        if names.DELAY_TIME in claims and not delivery.is_again:
            yield from _judge_delay(delivery, entry)

    def judge_answer(self, entry: Entry[Content]) -> Iterator[Finding]:
        """Judge the bornTimestamp in the message that sending returned, if it has one."""
        header = header_of(entry.content.answer)
        if names.BORN_TIMESTAMP in header and entry.answered_at is not None:
            yield self._judge_birth(header, entry.answered_at, entry)

    def _judge_birth(self, header: Attributes, at: Place, entry: Entry[Content]) -> Finding:
        clause, name = "oms.message.born-timestamp-assigned", names.BORN_TIMESTAMP
        told = header.get(name)
        if told is None:
            return Finding(clause, "untold")
        if _whole(told) is None:
            return Finding(clause, "other-type")
        if told == entry.content.header.get(name):
            return Finding(clause, "senders", difference=_difference(name, "its own", told))
        answered = entry.answered_at or at
        return self._agree(clause, name, told, entry, answered.step.at_us)

    def _judge_storing(
        self, delivery: Delivery, entry: Entry[Content], born: Finding
    ) -> Iterator[Finding]:
        name = names.STORE_TIMESTAMP
        told = _whole(delivery.attributes.get(name))
        if told is None or told == entry.content.attributes.get(name):
            return
        unit = self._unit(told)
        if unit != "milliseconds":
            difference = _difference(name, f"within a day of {self.run.started_ms:.0f}", told)
            yield Finding("oms.store.timestamp-unit", unit, difference=difference)
            return
        yield Finding("oms.store.timestamp-unit")
        yield self._agree("oms.store.timestamp", name, told, entry, delivery.at.step.at_us)
        birth = _whole(delivery.header.get(names.BORN_TIMESTAMP))
        if birth is not None and born.holds:
            word = "" if told >= birth - self.run.slack_ms else "before"
            difference = _difference(name, f"{birth} or later", told)
            yield Finding("oms.store.timestamp-after-birth", word, difference=difference)

    def _unit(self, told: int) -> str:
        started, most = self.run.started_ms, _DAY_MS + abs(self.run.ahead_ms)
        if abs(told - started) < most:
            return "milliseconds"
        fitting = (name for name, by in _UNITS.items() if abs(told / by - started) < most)
        return next(fitting, "other-unit")

    def _agree(
        self, clause: str, name: str, told: JsonValue, entry: Entry[Content], last_us: int
    ) -> Finding:
        value, first_us = _whole(told) or 0, entry.at.step.at_us
        ahead = abs(self.run.ahead_ms)
        earliest, latest = self.run.started_ms - ahead, self.run.started_ms + ahead + _DAY_MS
        clock = self._clocks.setdefault((entry.at.case, name), _CaseClock(earliest, latest))
        if clock.agrees(value, first_us, last_us, self.run.tolerance_ms):
            return Finding(clause)
        due = f"{clock.low_ms + first_us / 1000:.0f} to {clock.high_ms + last_us / 1000:.0f}"
        return Finding(clause, "other-time", difference=_difference(name, due, told))

    def is_expired(self, delivery: Delivery, entry: Entry[Content]) -> "Expiry | None":
        """Return how a message had expired when it was asked for; None if it had not for certain.

        A message that has a delay is left out: the texts do not say what its expireTime means.
        """
        expires = _whole(entry.content.attributes.get(names.EXPIRE_TIME))
        born = _whole(delivery.header.get(names.BORN_TIMESTAMP))
        if expires is None or born is None or entry.answered_at is None:
            return None
        if entry.content.attributes.get(names.DELAY_TIME):
            return None
        age_ms = (delivery.event.asked_us - entry.answered_at.step.at_us) / 1000
        age_ms -= self.run.slack_ms
        if 0 <= expires < _LONGEST_AGE_MS:
            return Expiry(False, _age(expires, age_ms)) if age_ms > expires else None
        if born <= expires < born + age_ms:
            return Expiry(True, _age(expires - born, age_ms))
        return None


@dataclass(frozen=True, slots=True)
class Expiry:
    """A message came after its expireTime, read as a time or (not ``is_absolute``) as an age."""

    is_absolute: bool
    difference: Difference


def _judge_delay(delivery: Delivery, entry: Entry[Content]) -> Iterator[Finding]:
    delay = _whole(entry.content.attributes.get(names.DELAY_TIME))
    if delay is None or delay <= 0:
        return
    waited = (delivery.at.step.at_us - entry.at.step.at_us) / 1000
    is_huge = delay > _HUGE_DELAY_MS
    clause, word = (
        ("oms.delay.no-wrap", "delivered") if is_huge else ("oms.delay.not-early", "early")
    )
    if waited >= delay - _TOLERANCE_MS:
        yield Finding(clause)
        return
    difference = Difference("delivery", None, f"after {delay} ms", f"after {waited:.0f} ms")
    yield Finding(clause, word, difference=difference)


def _age(expires_ms: int, age_ms: float) -> Difference:
    return Difference(
        "delivery", None, f"before {expires_ms} ms", f"after {age_ms:.0f} ms or more"
    )


def _whole(value: JsonValue) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _difference(name: str, due: str, found: JsonValue) -> Difference:
    return Difference(name, None, due, str(found))
