"""What a story shows, in the words that cases for the clients of every protocol share."""

from dataclasses import replace

from wireproof_kit.clients.events import (
    Answered,
    BadLine,
    Ended,
    Flooded,
    Greeted,
    Malformed,
    Marked,
    Told,
)
from wireproof_kit.clients.part import Until
from wireproof_kit.clients.story import Story
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_spec.driver.lines import Failure, Result, Unsupported

LONGER = "a client that takes its time is given more of it by --timeout SEC"
NOTHING = "nothing-came"
RAN_OUT = "the producer ended by itself with exit code 0; it must publish until it is ended"


def answers(story: Story, op: str) -> list[Answered]:
    """Return the driver's answers to an operation in a client case."""
    return story.of(Answered, lambda event: event.op == op)


def failures(story: Story, op: str) -> list[Failure]:
    """Return the errors with which the client failed an operation of its driver."""
    return [answer.answer for answer in answers(story, op) if isinstance(answer.answer, Failure)]


def results(story: Story, op: str) -> list[Result]:
    """Return the results of the successful operations of a client's driver."""
    return [answer.answer for answer in answers(story, op) if isinstance(answer.answer, Result)]


def list_told(story: Story, name: str) -> list[Told]:
    """Return the events with this name that the client's driver reported."""
    return story.of(Told, lambda event: event.event.name == name)


def is_marked(story: Story) -> bool:
    """Return True if the script's period has ended, as a mark in the transcript shows."""
    return story.first(Marked) is not None


def any_of(*questions: Until) -> Until:
    """Return a condition on the events that holds if one of these conditions holds."""
    return lambda story: any(question(story) for question in questions)


def is_prevented(story: Story) -> bool:
    """Return True if the driver cannot do its part: it has no word for it, or writes bad lines."""
    return _unable(story) is not None


def unless(story: Story, value: str, *, seen: bool = True, note: str = "") -> Observation:
    """Return an observation, or instead what prevented it: a crash, a bad driver, a time-out.

    ``value`` is the observation. ``seen`` says whether the case came to its end. If not, a client
    that ended, invalid bytes and too many bytes have observations of their own.
    """
    unable = _unable(story)
    if unable is not None:
        return unable
    if seen:
        return observed(value, note=note)
    malformed, ended = story.first(Malformed), story.first(Ended)
    if malformed is not None:
        return malformed_observation(malformed)
    if has_run_out(story):
        return observed("inconclusive:ended", note=RAN_OUT)
    if ended is not None:
        return observed(f"ended:{ended.code}", note=note)
    if story.first(Flooded) is not None:
        return observed("flood", note=note)
    late = observed(value, overdue=True, note=note)
    return replace(late, starved=True) if story.is_starved() else late


def if_came(
    story: Story,
    value: str,
    *,
    came: bool,
    note: str = "",
    difference: Difference | None = None,
) -> Observation:
    """Return the observation of what a client sent or told; ``nothing-came`` if it did neither.

    A comparison with something that did not come would name a difference that nobody saw.
    """
    if not came:
        return unless(story, NOTHING, seen=False)
    return replace(unless(story, value, note=note), difference=difference)


def has_run_out(story: Story) -> bool:
    """Return True if a producer without a driver has ended well by itself: its messages ran out.

    A driver goes on until it is asked to close, and a consumer until it is ended.
    """
    ended = story.first(Ended)
    is_free = story.first(Greeted) is None and story.find_given("role") == "producer"
    return is_free and ended is not None and ended.code == 0


def gave_up(story: Story, value: str) -> Observation:
    """Return the observation that the client gave up; it decides nothing if the client starved.

    The client's own time limits went on while other programs kept it, or the kit, from running:
    go-nsq ends a publish after 0.3 s, and a busy machine keeps a lookup's answer for longer.
    """
    seen = unless(story, value)
    return replace(seen, overdue=True, starved=True) if story.is_starved() else seen


def shown(story: Story, value: str, *, seen: bool, note: str = "") -> Observation:
    """Return an observation that is only valid if the case came to its end (``seen``).

    Otherwise return ``incomplete``, or what prevented it: a client that did nothing did nothing
    wrong.
    """
    if seen:
        return unless(story, value, note=note)
    told = f"{note}; {LONGER}" if note else LONGER
    return unless(story, "incomplete", seen=False, note=told)


def malformed_observation(malformed: Malformed) -> Observation:
    """Return the observation for bytes from the client that the protocol does not allow."""
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
