"""Binds the forms of requests once for a run, each by two witnesses.

The form of create requests: one is accepted, and what it created is found by its name. The
generation: two polls in its form, by number and by name, both return the message that was sent.
Nothing later in a run is tried in another form.
"""

from dataclasses import dataclass

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.iggy.observe.observations import observe
from wireproof_kit.iggy.server import PREPARING, Server
from wireproof_kit.iggy.topics import Stream, Topic
from wireproof_kit.iggy.wire.answers import Answer, Done
from wireproof_kit.iggy.wire.payloads import Polling
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.identifier import make_named
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.bodies.streams import StreamRequest
from wireproof_spec.iggy.generation import (
    CREATE_FORMS,
    GENERATIONS,
    OWN_CREATE_FORM,
    CreateForm,
    Generation,
)
from wireproof_spec.iggy.kinds import FIRST

PAYLOAD = b"wp probe of the generation"
_OWN_GENERATION: dict[CreateForm, Generation] = {
    form: generation for generation, form in OWN_CREATE_FORM.items()
}
_NOT_FOUND = "not-found"
_REFUSED, _ANSWERED, _RETURNED = range(3)


@dataclass(frozen=True, slots=True)
class Created:
    """The result of creating a stream in one form; ``seen`` is the observation of the answers."""

    form: CreateForm
    stream: Stream
    seen: str

    @property
    def is_accepted(self) -> bool:
        """Return True if the request was answered with success, even if it was misread."""
        return self.seen.startswith("ok")

    @property
    def is_found(self) -> bool:
        """Return True if the request was accepted, and the stream is found by its name."""
        return self.seen == "ok"


def bind_forms(server: Server, told: Generation | None) -> None:
    """Find out in which form the target reads create requests, and its generation.

    A generation that the user ``told`` is taken as it is. A server that refuses every create
    request is logged in to, and asked again.

    Raises:
        TargetUnreachable: the target accepts no connection.
    """
    forms = server.access.forms
    guess: Generation = told or ("tagged" if server.access.login.is_required else "published")
    forms.take_generation(guess)
    created = _create_in_turn(server, OWN_CREATE_FORM[guess])
    if not any(each.is_accepted for each in created) and server.log_in_after_all():
        created += _create_in_turn(server, OWN_CREATE_FORM[guess])
    right = [each for each in created if each.is_found] or [
        each for each in created if each.is_accepted
    ]
    if right:
        forms.create = right[0].form
        server.access.identifiers.shared_stream(lambda: right[0].stream)
    server.will_delete(
        *(each.stream for each in created if each.is_accepted and each not in right)
    )
    if told is None:
        forms.take_generation(_find_generation(server, _OWN_GENERATION.get(forms.create, guess)))


def create_in_form(server: Server, form: CreateForm) -> Created:
    """Create a stream in a form, and look for it by its name."""
    server.access.forms.create = form
    stream = server.access.identifiers.stream()
    answer = server.client.ask(server.stream_request(stream), PREPARING)
    if not isinstance(answer, Done):
        return Created(form, stream, observe(answer).value)
    by_name = StreamRequest(make_named(stream.name))
    told = server.ask(commands.GET_STREAM, by_name, PREPARING)
    number = stream.number.to_bytes(4, "little")
    is_it = isinstance(told, Done) and stream.name.encode() in told.body and number in told.body
    return Created(form, stream, "ok" if is_it else f"ok,{_NOT_FOUND}")


def _create_in_turn(server: Server, first: CreateForm) -> list[Created]:
    """Create a stream in each form until one is accepted and found."""
    created: list[Created] = []
    order: list[CreateForm] = [first, *(form for form in CREATE_FORMS if form != first)]
    for form in order:
        created.append(create_in_form(server, form))
        if created[-1].is_found:
            return created
    server.access.forms.create = first
    return created


def _find_generation(server: Server, likely: Generation) -> Generation:
    """Return the generation whose polls return a message; the likely one if no poll does.

    A server may show a message a moment later than it accepts it. Then the generation whose polls
    are answered with success is taken, since those of the other one are refused.
    """
    try:
        topic = server.new_topic()
        server.send_accepted(topic, SentMessage(1, (), PAYLOAD))
    except ArrangementFailed:
        return likely
    best = _poll_twice(server, topic, likely)
    for generation in GENERATIONS:
        if best < _RETURNED and generation != likely:
            found = _poll_twice(server, topic, generation)
            likely, best = (generation, found) if found > best else (likely, best)
    return likely


def _poll_twice(server: Server, topic: Topic, generation: Generation) -> int:
    """Return the worse result of two polls of a generation, by number and by name."""
    server.access.forms.generation = generation
    requests = (
        server.poll_request(topic),
        server.poll_request(topic, Polling(strategy=FIRST), by=topic.by_name),
    )
    return min(_judge_poll(server.client.ask(request, PREPARING)) for request in requests)


def _judge_poll(answer: Answer) -> int:
    if not isinstance(answer, Done):
        return _REFUSED
    return _RETURNED if PAYLOAD in answer.body else _ANSWERED
