"""The judge: a pure function from observation and reading to verdict.

It never talks to a target, so a bundle can be judged again under another reading, profile,
deviations file or newer catalogue.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from wireproof_spec.clauses.catalogue import Capability, Catalogue, Clause, Decision, Law, matches
from wireproof_spec.record import (
    BindingRecord,
    CaseRecord,
    ClaimRecord,
    ClaimState,
    ControlState,
    ReadingChoice,
    RepeatsRecord,
    SeenRecord,
    Verdict,
)

UNAVAILABLE = "unavailable"
KIT_ERROR = "kit-error"
UNDECIDED = "inconclusive"
CUT_OFF, EXHAUSTED, PAUSED = (f"{UNDECIDED}:{word}" for word in ("cut-off", "exhausted", "paused"))
TARGET_DIED = f"{UNDECIDED}:target-died"
"""Observation of a case that could not be decided, as the target has ended."""
SLOW_CASE = f"{UNDECIDED}:timeout"
"""Observation of a case whose target sends all it owes, too slowly for the time of a case."""
UNSUPPORTED = "unsupported"
DIED = "died"
UNSURE = "the case need not be the culprit"
"""Begins the part of a death's note that names the cases which sent last besides."""
WITHHELD = "withheld"
"""Observation of a case whose target kept it waiting for longer than a case may take."""
CONFORMING: frozenset[Verdict] = frozenset({"pass", "reading"})


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with its reason in one sentence.

    ``reading`` is ``decision=reading`` if the target follows another reading than the published
    one; ``accepted`` are the patterns that would have conformed; ``signature`` identifies a
    failure, so that a deviations file can list it.
    """

    verdict: Verdict
    reason: str
    reading: str | None = None
    accepted: tuple[str, ...] = ()
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class JudgeContext:
    """Everything besides the observation that a verdict depends on.

    ``claims`` are the target's capabilities by name, ``readings`` the reading it follows for each
    ambiguous sentence, ``reading`` the user's choice among them.
    """

    catalogue: Catalogue
    claims: Mapping[str, ClaimRecord]
    readings: Mapping[str, BindingRecord]
    reading: ReadingChoice = "any"


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """What one run of a case showed, with the verdict on that run alone."""

    seen: SeenRecord
    judgement: Judgement


@dataclass(frozen=True, slots=True)
class JudgedRuns:
    """The judged runs of one case.

    ``alike`` is the number of runs that showed the same as the first one, which is counted;
    ``others`` are the runs that showed something else. ``unrepeated`` says why no repeat of a
    failure decided anything. ``confirmed_by`` is the case whose repeats confirmed the failure.
    """

    first: JudgedRun
    others: tuple[JudgedRun, ...] = ()
    alike: int = 1
    unrepeated: str = ""
    confirmed_by: str = ""

    def record(self) -> RepeatsRecord:
        """Return how often the case was run, in the form that a bundle stores."""
        others = tuple(run.seen for run in self.others)
        runs = self.alike + len(others)
        return RepeatsRecord(runs, self.alike, others, self.unrepeated, self.confirmed_by)

    def count(self, holds: Callable[[JudgedRun], bool]) -> int:
        """Return of how many runs something holds."""
        return self.alike * holds(self.first) + sum(map(holds, self.others))


def judge_run(seen: SeenRecord, law: Law, context: JudgeContext) -> JudgedRun:
    """Judge one run of a case by the accept sets of the case."""
    return JudgedRun(seen, _own_fault(seen) or _by_law(seen.value, law, context))


def judge(
    runs: JudgedRuns, clause: Clause, needs: Sequence[str], context: JudgeContext
) -> Judgement:
    """Return the verdict of a case from its judged runs, before known deviations are applied.

    ``needs`` are the capabilities that the case requires.
    """
    missing = missing_capability(needs, context)
    if missing is not None:
        return Judgement("unsupported", _unsupported_reason(missing, context))
    return _agree(runs, clause, context.catalogue)


def judge_record(record: CaseRecord, context: JudgeContext) -> CaseRecord:
    """Return a recorded case with its verdict by the context's law, and that law's clause."""
    found = context.catalogue.find_law(record.case)
    if found is None:
        reason = f"the catalogue has no law for {record.case}"
        return _with(record, Judgement("error", reason))
    clause, law = found
    first, *others = (judge_run(seen, law, context) for seen in record.list_seen())
    repeats = record.repeats
    alike = max(repeats.same, 1)
    runs = JudgedRuns(first, tuple(others), alike, repeats.unrepeated, repeats.confirmed_by)
    judgement = judge(runs, clause, record.needs or clause.needs, context)
    return _with(record, judgement, clause=clause.id, level=clause.level, origin=clause.origin)


def _with(record: CaseRecord, judgement: Judgement, **changes: object) -> CaseRecord:
    return msgspec.structs.replace(
        record,
        verdict=judgement.verdict,
        reason=judgement.reason,
        reading=judgement.reading,
        accepted=judgement.accepted,
        signature=judgement.signature,
        deviation=None,
        **changes,
    )


def signature(clause: str, seen: SeenRecord, catalogue: Catalogue) -> str:
    """Return the signature of a failure: 12 hex digits from what was wrong.

    If the observation names the wrong behaviour, only that counts: where it first shows, and which
    clause it breaks, depends on ids and on the cases selected. Otherwise the signature is made
    from clause, field and observed value.
    """
    flaw = catalogue.flaw(seen.value)
    field = seen.difference.field if seen.difference else ""
    text = flaw or "\0".join((clause, field, seen.value))
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:12]


def claim_state(capability: Capability, observation: str, *, claimed: bool) -> ClaimState:
    """Return the state of a capability from the observation of its probe.

    ``shown`` and ``broken`` (claimed, but not shown) are judged; ``absent`` and ``unknown`` make
    cases unsupported.
    """
    if matches(observation, capability.shown_by):
        return "shown"
    if claimed:
        return "broken"
    return "absent" if matches(observation, capability.absent_by) else "unknown"


def is_shown(need: str, claims: Mapping[str, ClaimRecord]) -> bool:
    """Return True if a target shows a capability, or claims it: then its cases are judged."""
    claim = claims.get(need)
    return claim is not None and claim.state in ("shown", "broken")


def missing_capability(needs: Sequence[str], context: JudgeContext) -> str | None:
    """Return the first needed capability that the target neither shows nor claims, or None."""
    for need in needs:
        claim = context.claims.get(need)
        if claim is None or claim.state in ("absent", "unknown"):
            return need
    return None


def _unsupported_reason(need: str, context: JudgeContext) -> str:
    capability = context.catalogue.capability(need)
    title = capability.title if capability else need
    claim = context.claims.get(need)
    seen = claim.observation if claim else "no probe was run"
    if capability and matches(seen, capability.small_by):
        return f"needs {title}; the deployment is too small for it (probe: {seen})"
    if claim is not None and claim.note:
        seen = f"{seen}: {claim.note.replace(';', ',')}"  # a statement parts groups with it
    return f"needs {title}, which the target was not seen to offer (probe: {seen})"


def _by_law(value: str, law: Law, context: JudgeContext) -> Judgement:
    if matches(value, law.accept):
        return Judgement("pass", "as the text says", accepted=law.accept)
    followed, accepted = _under_readings(value, law, context)
    if followed is not None:
        return _by_reading(followed, accepted, context)
    if matches(value, law.undecided):
        return Judgement(
            "inconclusive",
            f"saw {value}, which neither keeps nor breaks the clause",
            accepted=accepted,
        )
    return Judgement("fail", f"expected {_format_list(accepted)}; saw {value}", accepted=accepted)


def is_undecided_by_kit(seen: SeenRecord) -> bool:
    """Return True if a run decides nothing, whatever the law says: of no fault of the target's."""
    judgement = _own_fault(seen)
    return judgement is not None and judgement.verdict != "unsupported"


def _own_fault(seen: SeenRecord) -> Judgement | None:
    kind = seen.value.partition(":")[0].partition(",")[0]
    if kind == KIT_ERROR:
        return Judgement("error", seen.note or seen.value)
    if kind == UNSUPPORTED:
        return Judgement("unsupported", seen.note or seen.value)
    if kind == UNDECIDED:
        return Judgement("inconclusive", seen.note or seen.value)
    if seen.overdue and seen.control != "prompt" and kind != DIED:
        return Judgement("inconclusive", _LATE[seen.control or "slow"])
    return None


_LATE: Mapping[ControlState, str] = {
    "slow": "what was awaited came late or never, but this machine or the network was slow then, "
    "too; repeat the case when the machine has less to do",
    "dead": "what was awaited came late or never, and then the kit's own request got no answer",
}


def _under_readings(
    value: str, law: Law, context: JudgeContext
) -> tuple[str | None, tuple[str, ...]]:
    accepted = list(law.accept)
    followed: str | None = None
    for decision_id, readings in law.reading.items():
        for name in _open_readings(decision_id, tuple(readings), context):
            patterns = readings.get(name, ())
            accepted.extend(patterns)
            if followed is None and matches(value, patterns):
                followed = f"{decision_id}={name}"
    return followed, tuple(accepted)


def _open_readings(
    decision_id: str, names: tuple[str, ...], context: JudgeContext
) -> tuple[str, ...]:
    """Return the readings that count: the bound one, or all when no probe could run.

    A target whose probe showed no registered reading is held to the published one.
    """
    binding = context.readings.get(decision_id)
    if binding is None or (binding.reading is None and binding.observation == UNAVAILABLE):
        return names
    decision = context.catalogue.decision(decision_id)
    published = decision.published if decision else "published"
    return (binding.reading or published,)


def _by_reading(followed: str, accepted: tuple[str, ...], context: JudgeContext) -> Judgement:
    decision_id, _, name = followed.partition("=")
    decision = context.catalogue.decision(decision_id)
    if decision is None or name == decision.published:
        return Judgement("pass", f"as the text says ({followed})", accepted=accepted)
    if _counts(decision, name, context.reading):
        return Judgement("reading", f"follows reading {followed}", followed, accepted)
    return Judgement(
        "fail", f"follows reading {followed}; only {context.reading} counts", followed, accepted
    )


def _counts(decision: Decision, name: str, choice: ReadingChoice) -> bool:
    """Return True if a reading other than the published one conforms under the user's choice."""
    if choice == "deployed":
        return any(option.name == name and option.peers for option in decision.option)
    return choice == "any"


def _agree(runs: JudgedRuns, clause: Clause, catalogue: Catalogue) -> Judgement:
    first, total = runs.first.judgement, runs.alike + len(runs.others)
    deaths = runs.count(lambda run: run.seen.value == DIED)
    if 0 < deaths < total:
        name = signature(clause.id, SeenRecord(value=DIED), catalogue)
        reason = f"the target died in {deaths} of {total} repeats{_name_others(runs)}"
        return Judgement("fail", reason, None, first.accepted, name)
    same = runs.count(lambda run: run.judgement.verdict == first.verdict)
    if same < total:
        reason = f"{first.verdict} in {same} of {total} repeats: {first.reason}"
        return Judgement("unstable", reason, first.reading, first.accepted)
    if first.verdict != "fail":
        return first
    if total == 1 and runs.unrepeated and not deaths:
        reason = f"seen once, and not repeated ({runs.unrepeated}): {first.reason}"
        return Judgement("inconclusive", reason, first.reading, first.accepted)
    return replace(first, signature=signature(clause.id, runs.first.seen, catalogue))


def _name_others(runs: JudgedRuns) -> str:
    """Return which other cases may have killed the target in a repeat, if the kit noted any."""
    notes = [run.seen.note for run in runs.others if run.seen.value == DIED]
    unsure = [note[note.index(UNSURE) :] for note in notes if UNSURE in note]
    return f"; {unsure[0]}" if unsure else ""


def _format_list(patterns: Sequence[str]) -> str:
    return " | ".join(dict.fromkeys(patterns)) or "nothing"
