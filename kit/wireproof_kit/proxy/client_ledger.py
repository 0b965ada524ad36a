"""Judges every connection that a client opens in any case, by what passing traffic shows.

The rules are those of the proxy. A connection is judged up to where the server that the kit plays
first broke the protocol on it: what a client does then is the business of the case.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from wireproof_kit.clients.again import observe_recorded
from wireproof_kit.clients.events import Connected, Disconnected, Event
from wireproof_kit.clients.story import BY_CLIENT, BY_CLIENT_IN_ORDER
from wireproof_kit.ledger.entries import Place
from wireproof_kit.ledger.outcomes import Finding, Outcomes
from wireproof_kit.proxy.checks import Watcher
from wireproof_kit.proxy.evidence import Evidence
from wireproof_kit.proxy.part import ProxyPart
from wireproof_kit.proxy.tally import claim_all
from wireproof_kit.runner.collect import CLIENT_CASES, collect
from wireproof_kit.runner.records import seen_record, steps_record
from wireproof_kit.verdicts.judge import CONFORMING, JudgeContext, judge_run
from wireproof_kit.wire.transcript import SENT_KINDS, Step
from wireproof_spec.clauses.catalogue import CLIENT
from wireproof_spec.clauses.loading import load_catalogue

RECONNECTED = "reconnected"
"""The way of a connection that is not the client's first one to that server in the case."""
_TRAFFIC = (*SENT_KINDS, "receive", "response")


@dataclass(slots=True)
class _Connection:
    watcher: Watcher
    way: tuple[str, ...]
    evidence: Evidence = field(default_factory=Evidence)
    sent: Place | None = None
    """The latest step by the server."""
    is_judged: bool = True
    """False once the server broke the protocol on this connection."""


class CaseChecks(Protocol):
    """Rules for what a client does on all of its connections together, in one case."""

    def see(self, step: Step) -> Iterable[Finding]:
        """Return which clauses a step shows to be kept or broken."""
        ...


class ClientLedger:
    """The ledger of a run that tests a client of a protocol."""

    def __init__(
        self,
        protocol: str,
        make_part: Callable[[], ProxyPart],
        watch_case: Callable[[], CaseChecks] | None = None,
    ) -> None:
        self._catalogue = load_catalogue(protocol)
        self._make_part = make_part
        self._watch_case = watch_case
        self._bench = JudgeContext(self._catalogue, claim_all(self._catalogue), {})
        instances = collect(protocol, within=CLIENT_CASES)
        self._opening = {instance.id: instance for instance in instances}
        self._outcomes = Outcomes()

    def read(self, case: str, steps: Iterable[Step], started_ms: float | None = None) -> None:
        """Read the steps of one run of a case; its time of day is not needed."""
        part, open_, steps = self._make_part(), dict[str, _Connection](), list(steps)
        for step in steps:
            if step.kind == "open":
                watcher = part.watch(step.connection)
                open_[step.connection] = _Connection(watcher, _way_of(step.connection))
            connection = open_.get(step.connection)
            if connection is not None and connection.is_judged:
                self._see(connection, Place(case, step))
        for connection in open_.values():
            self._judge_opening(case, connection)
        if self._watch_case is not None:
            self._see_case(case, steps, self._watch_case())

    def conclude(self) -> Outcomes:
        """Return what all connections have shown."""
        return self._outcomes

    def _see_case(self, case: str, steps: Iterable[Step], checks: CaseChecks) -> None:
        before: tuple[Place, ...] = ()
        for step in steps:
            place = Place(case, step)
            for finding in checks.see(step):
                self._outcomes.add(finding, _way_of(step.connection), (*before, place))
            before = (place,)

    def _see(self, connection: _Connection, place: Place) -> None:
        for event in self._events(connection, place.step):
            found = list(connection.watcher.see(event))
            if any(not each.holds and not self._binds_client(each) for each in found):
                connection.is_judged = False
                return
            for each in found:
                if self._binds_client(each):
                    self._add(each, connection, place)
        if place.step.kind in ("receive", "response"):
            connection.sent = place

    def _events(self, connection: _Connection, step: Step) -> Sequence[Event]:
        at = step.at_us / 1_000_000
        if step.kind not in _TRAFFIC:
            connection.evidence.add(step)
            if step.kind == "close":
                by_client = step.note.startswith(BY_CLIENT)
                ended = Disconnected(at, step.connection, "client" if by_client else "broker")
                is_in_order = step.note == BY_CLIENT_IN_ORDER
                return [*(connection.watcher.decode_end(at) if is_in_order else ()), ended]
            return [Connected(at, step.connection)] if step.kind == "open" else []
        by_client = step.kind in SENT_KINDS
        if by_client:
            connection.evidence.add(step)
        events = list(connection.watcher.decode(at, step.data, by_client=by_client))
        for event in events:
            if framed := connection.watcher.frame_bytes(event):
                connection.evidence.add(Step(step.at_us, step.connection, step.kind, framed))
        return events

    def _binds_client(self, finding: Finding) -> bool:
        clause = self._catalogue.clause(finding.clause)
        return clause is not None and clause.role == CLIENT

    def _judge_opening(self, case: str, connection: _Connection) -> None:
        """Observe the cases of openings in what the connection began with."""
        steps = connection.evidence.opening
        record = steps_record(steps)
        for name in connection.watcher.opening if connection.is_judged else ():
            instance = self._opening.get(name)
            seen = observe_recorded(instance, record)
            if instance is None or seen is None:
                continue
            verdict = judge_run(seen_record(seen), instance.law, self._bench).judgement.verdict
            if verdict == "fail" or verdict in CONFORMING:
                value = seen.value if verdict == "fail" else ""
                finding = Finding(instance.clause.id, value, seen.note, seen.difference)
                places = (Place(case, step) for step in steps)
                self._outcomes.add(finding, connection.way, places)

    def _add(self, finding: Finding, connection: _Connection, place: Place) -> None:
        before = () if connection.sent is None else (connection.sent,)
        self._outcomes.add(finding, connection.way, (*before, place))


def _way_of(conn: str) -> tuple[str, ...]:
    """Return what is unusual about a connection: that it is not the first one to its server."""
    number = conn.rpartition(".")[2]
    return (RECONNECTED,) if number.isdecimal() and number != "1" else ()
