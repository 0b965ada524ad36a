"""What a campaign was to look at and did not: then nothing found says little."""

from collections.abc import Iterator, Sequence
from typing import Final

from wireproof_kit.fuzz.campaign.coverage import Coverage
from wireproof_kit.fuzz.campaign.plan import WorkerPlan
from wireproof_kit.fuzz.campaign.workers import Status

LEAST_PART: Final = 1 / 4
"""The part of the cases that a target can take in a campaign of which fewer say little."""


def find_gaps(plan: WorkerPlan, told: Sequence[Status], coverage: Coverage) -> tuple[str, ...]:
    """Return what a campaign did not look at, a sentence each; empty if it did what was asked.

    That is a chosen frame kind or state of which no case was sent, all after a death for good, or
    most of the cases that the target could have taken in the time, at the rate of the batches in
    which nothing was wrong.
    """
    ended = tuple(_ended_early(plan, told)) or tuple(_too_few(plan, told))
    return (*_untried(plan, coverage), *ended)


def _untried(plan: WorkerPlan, coverage: Coverage) -> Iterator[str]:
    kinds, states = coverage.kinds(), coverage.states()
    for prefix in plan.choice.frames:
        if not any(kind.startswith(prefix) for kind in kinds):
            yield f"no case of the chosen frame kind {prefix} was sent"
    for name in plan.choice.states:
        # The state of a connection that is held open has a name that begins with that.
        if not any(state == name or state.startswith(f"{name}-") for state in states):
            yield f"no case in the chosen state {name} was sent"


def _ended_early(plan: WorkerPlan, told: Sequence[Status]) -> Iterator[str]:
    """Yield a sentence if no more could be sent to the target before all cases were."""
    gone = [each for each in told if each.gone]
    executed = sum(each.executed for each in told)
    if not gone or _is_whole(plan, executed):
        return
    could = any(each.can_restart for each in gone)
    advice = "it could not be started again" if could else "--restart CMD starts it each time"
    sent = f"{executed} case{'' if executed == 1 else 's'}"
    yield f"after {sent} nothing more could be sent to the target: {gone[0].gone}; {advice}"


def _too_few(plan: WorkerPlan, told: Sequence[Status]) -> Iterator[str]:
    calm = sum(each.counts.calm for each in told)
    calm_s = sum(each.counts.calm_s for each in told)
    if plan.time_s is None or not calm_s:
        return
    executed = sum(each.executed for each in told)
    possible = calm / calm_s * plan.time_s * len(told)
    if executed < possible * LEAST_PART and not _is_whole(plan, executed):
        sending_s = sum(each.counts.sending_s for each in told) / len(told)
        other_s = plan.time_s - sending_s
        yield (
            f"sent only {executed} of about {possible:.0f} cases that the target takes in "
            f"{plan.time_s:g} s; other work took {other_s:.0f} s; increase --time"
        )


def _is_whole(plan: WorkerPlan, executed: int) -> bool:
    """Return True if all cases were sent that the user asked for."""
    return plan.cases is not None and executed >= plan.cases
