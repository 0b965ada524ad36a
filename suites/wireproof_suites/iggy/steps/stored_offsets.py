"""Comparison of stored offsets with the offsets that a server reports."""

from wireproof_kit.iggy.forms import StoredOffsetForm
from wireproof_kit.iggy.observe.observations import difference_of, observe
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.topics import Topic
from wireproof_kit.iggy.wire import generations
from wireproof_kit.iggy.wire.answers import Done
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_spec.wire_error import WireError

AS_STORED = "offset:as-stored"


def observe_offset(
    server: Server, topic: Topic, due: int, *, consumer: int = 1, partition: int | None = None
) -> Observation:
    """Ask for a stored offset, and compare it with the offset that is due.

    The observation is ``offset:as-stored``, ``offset:none``, ``offset:undecodable`` or
    ``offset:other``; a refused request is observed as its answer.
    """
    answer = server.ask_offset(topic, consumer=consumer, partition=partition)
    if not isinstance(answer, Done):
        return observe(answer)
    return _observe_offset(answer, due, server.access.forms.stored_offset).on(answer)


def _observe_offset(answer: Done, due: int, form: StoredOffsetForm) -> Observation:
    if not answer.body:
        return observed("offset:none")
    try:
        found = generations.stored_offset(answer.body, form)
    except WireError as error:
        return observed("offset:undecodable", difference=difference_of(error))
    if found == due:
        return observed(AS_STORED)
    return observed("offset:other", difference=Difference("offset", 4, str(due), str(found)))
