"""Probes of what an Iggy client can do: short runs against a server that acts correctly."""

from collections.abc import Callable, Mapping

from wireproof_kit.clients.events import Answered, Greeted
from wireproof_kit.clients.part import Experiment, Role, Stories
from wireproof_kit.clients.story import Story
from wireproof_kit.iggy.clients.driver_requests import POLL, SEND, ask_poll, ask_send
from wireproof_kit.iggy.clients.events import Asked
from wireproof_kit.iggy.clients.script import Script, Transport
from wireproof_kit.observation import Observation, observed
from wireproof_spec.iggy.bodies.send_messages import SentMessage

UNAVAILABLE = "unavailable"
ONE = SentMessage(0, (), b"wireproof")


def polls(story: Story) -> list[Asked]:
    """Return the poll requests of a client case, in order."""
    return story.of(Asked, lambda event: event.poll is not None)


def sends(story: Story) -> list[Asked]:
    """Return the requests to send messages of a client case, in order."""
    return story.of(Asked, lambda event: event.sending is not None)


def _has_ended(story: Story, op: str) -> bool:
    """Return True once a driver has answered; there is nothing to wait for without one."""
    answers = story.of(Answered, lambda event: event.op == op)
    return bool(answers) or not story.first(Greeted)


def _has_polled(story: Story) -> bool:
    return bool(polls(story)) and _has_ended(story, POLL)


def _has_sent(story: Story) -> bool:
    return bool(sends(story)) and _has_ended(story, SEND)


def _consuming(transport: Transport) -> Experiment[Script]:
    return Experiment("consumer", Script("consumer", transport, asks=(ask_poll(),)), _has_polled)


def _producing(transport: Transport) -> Experiment[Script]:
    asks = (ask_send([ONE]),)
    return Experiment("producer", Script("producer", transport, asks=asks), _has_sent)


FIRST: Mapping[str, Experiment[Script]] = {
    "consumer": _consuming("tcp"),
    "producer": _producing("tcp"),
    "consumer-http": _consuming("http"),
    "producer-http": _producing("http"),
}
"""Short runs that show whether a client can be tested at all, over each transport."""


def observe_capability(stories: Stories, name: str) -> Observation:
    """Return what the short runs show of the capability with this name."""
    ask = _QUESTIONS.get(name)
    if ask is None:
        return observed(UNAVAILABLE, note=f"no run of a client shows {name}")
    return observed("ok" if ask(stories) else "not-shown")


def observe_reading(stories: Stories, name: str) -> Observation:
    """Return no reading: the kit answers a client in the generation that it speaks."""
    return observed(UNAVAILABLE)


def _over(transport: Transport) -> Callable[[Stories], bool]:
    return lambda stories: any(
        event.peer == transport
        for story in stories.values()
        for event in (*polls(story), *sends(story))
    )


def _plays(role: Role) -> Callable[[Stories], bool]:
    find = polls if role == "consumer" else sends
    return lambda stories: any(map(find, stories.values()))


def _driver(stories: Stories) -> bool:
    return any(story.first(Greeted) for story in stories.values())


_QUESTIONS: Mapping[str, Callable[[Stories], bool]] = {
    "client-producer": _plays("producer"),
    "client-consumer": _plays("consumer"),
    "client-driver": _driver,
    "client-tcp": _over("tcp"),
    "client-http": _over("http"),
}
