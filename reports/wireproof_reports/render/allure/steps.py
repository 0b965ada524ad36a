"""The exchange of one case as Allure steps, one for each event on a connection."""

from collections.abc import Iterator, Sequence

from wireproof_reports.exchange.annotated_text import make_heading
from wireproof_reports.exchange.annotation import clip
from wireproof_reports.exchange.evidence import Exchange, StepView
from wireproof_reports.render.allure.result import Details, Step
from wireproof_reports.wording import count_noun
from wireproof_spec.record import StepRecord

LONGEST_NAME = 200


def steps_of(exchange: Exchange, recorded: Sequence[StepRecord], *, start: int) -> list[Step]:
    """Return the steps; the step whose answer differs first has the status failed."""
    last = len(exchange.tail)
    head = zip(exchange.head, recorded, strict=False)
    tail = zip(exchange.tail, recorded[len(recorded) - last :], strict=True)
    steps = [_step(view, step, start) for view, step in head]
    if exchange.omitted:
        gap = f"… {count_noun(exchange.omitted, 'step')} left out"
        steps.append(Step(gap, "passed", steps[-1].stop, steps[-1].stop))
    return [*steps, *(_step(view, step, start) for view, step in tail)]


def _step(view: StepView, step: StepRecord, start: int) -> Step:
    differing = next(iter(_list_differing(view)), "")
    at = start + step.at_us // 1000
    return Step(
        name=clip(make_heading(view), LONGEST_NAME),
        status="failed" if differing else "passed",
        start=at,
        stop=at,
        status_details=Details(message=differing),
    )


def _list_differing(view: StepView) -> Iterator[str]:
    for line in view.lines:
        if line.differs:
            yield f"{line.label} at byte {line.offset}: {line.value or line.head}; {line.differs}"
