"""Troubles of the kit's own that leave a run of a case undecided."""

from dataclasses import dataclass, field

import msgspec

from wireproof_kit.errors import (
    AllowedRefused,
    ArrangementFailed,
    Exhausted,
    TargetSilent,
    TargetUnreachable,
    is_exhausted,
)
from wireproof_kit.observation import Observation, observed
from wireproof_kit.processes.limits import has_exhausted_helper
from wireproof_kit.runner.instance import Instance, describe_raised, describe_returned
from wireproof_kit.runner.line import Line, has_reset
from wireproof_kit.targets.session import Session
from wireproof_kit.verdicts.judge import (
    CUT_OFF,
    EXHAUSTED,
    KIT_ERROR,
    PAUSED,
    SLOW_CASE,
    UNDECIDED,
    WITHHELD,
    JudgedRun,
)
from wireproof_kit.wire.transcript import Transcript
from wireproof_kit.wire.waiting import Pauses
from wireproof_spec.record import SeenRecord, Verdict

FAR_S = 0.2
"""Seconds of a round trip from which on cases run faster in parallel."""
WAITING_SHARE = 0.5
"""If more than this share of a case's time passed in vain waits, the target caused it."""
_TROUBLES = {
    CUT_OFF: "the way to the target resets connections by itself",
    EXHAUSTED: "a process that the kit started has used up its open files",
    PAUSED: "other programs kept the kit from running meanwhile",
}
"""Why a case is undecided now, and may be decided when it runs again."""
_HURRIED = f"{UNDECIDED}:hurried"
UNARRANGED = (ArrangementFailed, TargetUnreachable, TargetSilent, ConnectionRefusedError)
"""What a case raises if it could not be prepared; a package may connect sockets by itself."""


@dataclass(slots=True)
class Outcome:
    """What one run of a case showed, and how it went."""

    observation: Observation
    transcript: Transcript = field(default_factory=Transcript)
    seconds: float = 0.0
    is_hurried: bool = False
    pauses: Pauses = field(default_factory=Pauses)


def experiment(instance: Instance, session: Session, transcript: Transcript) -> Observation:
    """Run the function of a case once, and return what it observed, or what prevented it."""
    arguments: dict[str, object] = {}
    try:
        arguments.update(session.arguments(instance.arguments, transcript))
        found: object = instance.function(**arguments, **instance.parameters)
        # Authors of cases elsewhere may have no type checker.
        if isinstance(found, Observation):  # pyright: ignore[reportUnnecessaryIsInstance]
            return found
        return observed(f"{KIT_ERROR}:return", note=describe_returned(found, instance))
    except AllowedRefused as refused:
        return refused.observation
    except UNARRANGED as error:
        return observe_unarranged(error, transcript)
    # A thread would end in silence with SystemExit, and the run wait for the case.
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        if isinstance(error, Exhausted) or is_exhausted(error):
            return observe_exhausted(error)
        note = describe_raised(error, instance)
        return observed(f"{KIT_ERROR}:{type(error).__name__}", note=note)
    finally:
        session.release(arguments)


def find_trouble(outcome: Outcome, verdict: Verdict, line: Line) -> str:
    """Return what may have passed when the case runs again, and explains what was seen.

    ``verdict`` is that of the run. What is undecided lacks an answer or a sentinel.
    """
    if has_reset(outcome.transcript) and line.is_bad():
        return CUT_OFF
    if has_exhausted_helper():
        return EXHAUSTED
    rests_on_time = outcome.observation.overdue or verdict == "inconclusive"
    return PAUSED if rests_on_time and outcome.pauses.explain() else ""


def may_decide_later(run: JudgedRun) -> bool:
    """Return True if the run is undecided for what may have passed when the case runs again."""
    return run.seen.control == "slow" or run.seen.value in _TROUBLES


def note_runs(seen: SeenRecord, runs: int) -> SeenRecord:
    """Return what was seen with a note that a case remained undecided in all of its runs."""
    note = f"{seen.note}; undecided" if seen.note else "undecided"
    return msgspec.structs.replace(seen, note=f"{note} in all of {runs} runs")


def is_hurried(run: JudgedRun) -> bool:
    """Return True if the run is undecided because it was hurried."""
    return run.seen.value == _HURRIED


def record_hurried(observation: Observation, case: str) -> SeenRecord:
    """Return that a hurried case decided nothing: what it missed was not waited for."""
    why = "the kit no longer waits long, since the target owes too much"
    note = f"saw: {observation.describe(case)}, but {why}"
    return SeenRecord(value=_HURRIED, note=note)


def record_trouble(trouble: str, observation: Observation, case: str) -> SeenRecord:
    """Return that a case decided nothing because of a trouble of the kit's own."""
    return SeenRecord(trouble, note=f"saw: {observation.describe(case)}, but {_TROUBLES[trouble]}")


def observe_exhausted(error: BaseException) -> Observation:
    """Return what is seen when the kit has used up files, threads or the like."""
    return observed(EXHAUSTED, note=str(error))


def observe_late(
    transcript: Transcript, limit_s: float, session: Session, where: str
) -> Observation:
    """Return what is seen of a case that does not end: the target's fault or the kit's.

    ``where`` is the line at which it waits, if that is known.
    """
    waited = transcript.vain_s
    note = f"the case did not end within {limit_s:g} s"
    if waited < WAITING_SHARE * limit_s and (
        transcript.waited_s >= WAITING_SHARE * limit_s or session.control().seconds >= FAR_S
    ):
        note += f": for {transcript.waited_s:.0f} s it waited for what the target sent, slowly"
        return observed(SLOW_CASE, note=note)
    if waited < WAITING_SHARE * limit_s:
        note = f"{note}{where and '; it waits at '}{where}"
        return observed(f"{KIT_ERROR}:timeout", note=note)
    note = f"{note}: for {waited:.0f} s it waited in vain for what the target owed"
    return observed(WITHHELD, overdue=True, note=note)


def observe_unarranged(error: Exception, transcript: Transcript) -> Observation:
    """Return what is seen when a case could not be prepared, with the exchange that failed."""
    if isinstance(error, ArrangementFailed) and error.transcript is not None:
        transcript.extend(error.transcript)
    return observed(f"{UNDECIDED}:arrangement", note=str(error))
