"""Probes of what an Iggy client can do: short runs against a server that acts correctly."""

from collections.abc import Callable, Iterator, Mapping

from wireproof_kit.clients.events import Answered, Greeted
from wireproof_kit.clients.part import Experiment, Role, Stories
from wireproof_kit.clients.story import Story
from wireproof_kit.iggy.apache import APACHE
from wireproof_kit.iggy.clients.apache.decoder import LOGIN, read_prefix
from wireproof_kit.iggy.clients.driver_requests import POLL, SEND, ask_poll, ask_send
from wireproof_kit.iggy.clients.events import Asked
from wireproof_kit.iggy.clients.script import Script, Transport
from wireproof_kit.observation import Observation, observed
from wireproof_spec.iggy.apache.envelope import unpack_version
from wireproof_spec.iggy.bodies.send_messages import SentMessage

UNAVAILABLE = "unavailable"
FRAMED = "client-framed"
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


def first_runs(generation: str | None) -> Mapping[str, Experiment[Script]]:
    """Return the short runs that show whether a client can be tested, over each transport."""

    def consuming(transport: Transport) -> Experiment[Script]:
        script = Script("consumer", transport, asks=(ask_poll(),), generation=generation)
        return Experiment("consumer", script, _has_polled)

    def producing(transport: Transport) -> Experiment[Script]:
        script = Script("producer", transport, asks=(ask_send([ONE]),), generation=generation)
        return Experiment("producer", script, _has_sent)

    return {
        "consumer": consuming("tcp"),
        "producer": producing("tcp"),
        "consumer-http": consuming("http"),
        "producer-http": producing("http"),
    }


def observe_capability(generation: str | None, stories: Stories, name: str) -> Observation:
    """Return what the short runs show of the capability with this name.

    ``generation`` is that of the client as its user named it; else it is the one that the client
    speaks over TCP.
    """
    if name in (FRAMED, f"client-{APACHE}"):
        is_apache = _speaks_apache(stories) if generation is None else generation == APACHE
        return observed("ok" if is_apache == (name != FRAMED) else UNAVAILABLE)
    ask = _QUESTIONS.get(name)
    if ask is None:
        return observed(UNAVAILABLE, note=f"no run of a client shows {name}")
    return observed("ok" if ask(stories) else "not-shown")


def observe_reading(stories: Stories, name: str) -> Observation:
    """Return no reading: the kit answers a client in the generation that it speaks."""
    return observed(UNAVAILABLE)


def _logins(stories: Stories) -> Iterator[Asked]:
    """Yield the logins of generation apache."""
    for story in stories.values():
        yield from story.of(Asked, lambda each: each.command == LOGIN and each.request is not None)


def _speaks_apache(stories: Stories) -> bool:
    return any(
        story.first(Asked, lambda each: each.request is not None) for story in stories.values()
    )


def describe_client(stories: Stories) -> Mapping[str, str]:
    """Return what a client of generation apache says in its login: its protocol number and SDK."""
    for login in _logins(stories):
        prefix = read_prefix(login.request.body) if login.request is not None else None
        if prefix is not None:
            number = ".".join(map(str, unpack_version(prefix.protocol_version)))
            return {"protocol": number, "sdk": f"{prefix.sdk_name} {prefix.sdk_version}"}
    return {}


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
