"""What a story shows, in the words that cases for the clients of every protocol share."""

from dataclasses import replace

from wireproof_kit.clients.events import (
    Answered,
    BadLine,
    Ended,
    Flooded,
    Malformed,
    Marked,
    Told,
)
from wireproof_kit.clients.part import Until
from wireproof_kit.clients.story import Story
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_spec.driver.lines import Failure, Result, Unsupported


def answers(story: Story, op: str) -> list[Answered]:
    """Return the driver's answers to an operation."""
    return story.of(Answered, lambda event: event.op == op)


def failures(story: Story, op: str) -> list[Failure]:
    """Return the errors of an operation that the driver's user got."""
    return [each.answer for each in answers(story, op) if isinstance(each.answer, Failure)]


def results(story: Story, op: str) -> list[Result]:
    """Return the results of an operation that the driver's user got."""
    return [each.answer for each in answers(story, op) if isinstance(each.answer, Result)]


def list_told(story: Story, name: str) -> list[Told]:
    """Return the driver's events with this name."""
    return story.of(Told, lambda event: event.event.name == name)


def is_marked(story: Story) -> bool:
    """Return True once the period that the script sets is over."""
    return story.first(Marked) is not None


def any_of(*questions: Until) -> Until:
    """Return a condition that holds if one of these holds."""
    return lambda story: any(question(story) for question in questions)


def unless(story: Story, value: str, *, seen: bool = True, note: str = "") -> Observation:
    """Return the observation, unless what was to be seen was not, for another reason.

    ``seen`` says whether the story is complete. A client that ended, a driver that broke its
    protocol or cannot do what was asked, and a story cut off by patience each have their own.
    """
    unable = _unable(story)
    if unable is not None:
        return unable
    if seen:
        return observed(value, note=note)
    malformed, ended = story.first(Malformed), story.first(Ended)
    if malformed is not None:
        return malformed_observation(malformed)
    if ended is not None:
        return observed(f"ended:{ended.code}", note=note)
    if story.first(Flooded) is not None:
        return observed("flood", note=note)
    late = observed(value, overdue=True, note=note)
    return replace(late, starved=True) if story.is_starved() else late


def shown(story: Story, value: str, *, seen: bool, note: str = "") -> Observation:
    """Return the observation as `unless`, but only if the story is complete.

    For values that an incomplete story has too: nothing was done wrong where nothing was done.
    """
    return unless(story, value if seen else "incomplete", seen=seen, note=note)


def malformed_observation(malformed: Malformed) -> Observation:
    """Return the observation of bytes that the protocol does not allow."""
    error = malformed.error
    difference = Difference(error.field, error.offset, error.expected, error.found)
    return observed(f"malformed:{error.field}", difference=difference)


def _unable(story: Story) -> Observation | None:
    bad = story.first(BadLine)
    if bad is not None:
        return observed("inconclusive:driver", note=f"the driver {bad.fault}")
    for event in story.of(Answered):
        if isinstance(event.answer, Unsupported):
            what = event.answer.what
            return observed("unsupported", note=f"the driver does not support {what}")
    return None
