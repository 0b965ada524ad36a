"""Parser faults of the example client, for fuzzing to find by broken frames and answers."""

# A fault reaches into the core from outside, also for what is private there.
# pyright: reportPrivateUsage=false

from collections.abc import Callable

import msgspec

from wireproof_reference_impl.client_faults import constant, die
from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.nsq.client.core import answers, lookups, topology
from wireproof_reference_impl.nsq.client.core import link as links
from wireproof_reference_impl.nsq.client.core import subscription as subscriptions
from wireproof_reference_impl.nsq.client.core.commands import Publish
from wireproof_reference_impl.nsq.client.core.connection import (
    Answered,
    Event,
    NodeConnection,
    OutOfStep,
    Refused,
)
from wireproof_reference_impl.nsq.client.core.effects import Fetched, Receipt
from wireproof_reference_impl.nsq.client.core.link import Link
from wireproof_reference_impl.nsq.client.core.lookups import Lookups
from wireproof_reference_impl.nsq.client.core.message import BadMessage, Message, read_message
from wireproof_reference_impl.nsq.client.core.producer import Job, Lane
from wireproof_reference_impl.nsq.client.core.subscription import Subscription
from wireproof_reference_impl.nsq.faulty.clients.ways import parser_fault
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_spec.nsq import error_codes
from wireproof_spec.nsq.frame import FRAME_TYPE_MESSAGE, ServerFrame

_ID, _ID_END, _PLACE_END = slice(10, 26), 26, 38
"""Where in a message its id stands, and where offset and size end that follow it."""
_TRACED = 30
_CODES = frozenset(code for name, code in vars(error_codes).items() if name.startswith("E_"))
_stuck: list[NodeConnection] = []
Received = tuple[list[Event], bytes]
"""The connection that waits for the rest of an impossible frame; then none is read any more."""


@parser_fault(around(Subscription, "_take_message"))
def dies_inside_place(original: Original, self: Subscription, data: bytes) -> None:
    """The process dies at a message in order that ends inside its offset or size."""
    if self.wants.ordered and _ID_END < len(data) < _PLACE_END:
        die()
    original(self, data)


def _reads(act: Callable[[ServerFrame], object]) -> Override:
    """Do this with every frame before it is read."""

    def call(original: Original, self: NodeConnection, frame: ServerFrame) -> object:
        act(frame)
        return original(self, frame)

    return around(NodeConnection, "_read", call)


@parser_fault(_reads)
def dies_of_unknown_type(frame: ServerFrame) -> None:
    """The process dies at a frame of a type that is not known."""
    if frame.frame_type > FRAME_TYPE_MESSAGE:
        die()


@parser_fault(around(Subscription, "_take_message"))
def gives_back_another(original: Original, self: Subscription, data: bytes) -> None:
    """A message that cannot be read is given back by its id read backwards."""
    try:
        read_message(data, extend=self._extend, ordered=self.wants.ordered)
    except BadMessage as error:
        data = data[: _ID.start] + error.id[::-1] + data[_ID_END:] if error.id else data
    original(self, data)


@parser_fault(around(Link, "received"))
def finishes_unknown_type(original: Original, self: Link, data: bytes) -> None:
    """What is in a frame of a type that is not known is finished like a message."""
    original(self, data)
    if int.from_bytes(data[4:8], "big") > FRAME_TYPE_MESSAGE and len(data) >= 8 + _ID_END:
        self.send(b"FIN " + data[8:][_ID] + b"\n")


def _wait_for_more(
    original: Callable[..., Received], self: NodeConnection, data: bytes
) -> Received:
    """Take a size that cannot be for one whose frame is still to come, here and ever after."""
    if _stuck:
        return [], b""
    try:
        return original(self, data)
    except OutOfStep:
        _stuck.append(self)
        return [], b""


def _never_again(original: Original, self: Link) -> None:
    if not _stuck:
        original(self)


@parser_fault()
def waits_for_huge_frame() -> Change:
    """A size that no frame has is waited for, and nothing is read from then on."""
    return (
        around(NodeConnection, "receive", _wait_for_more),
        around(Link, "open", _never_again),
    )


@parser_fault()
def spins_on_dead_lookup() -> Change:
    """A round of lookups in which nobody answers is followed by the next one at once."""
    return (
        constant(lookups, "retry_delay", 0.0),
        constant(lookups, "gap", 0.0),
    )


@parser_fault(around(NodeConnection, "_response"))
def dies_of_second_answer(original: Original, self: NodeConnection, data: bytes) -> object:
    """The process dies at a response that answers nothing."""
    event = original(self, data)
    if getattr(event, "is_answer", False):
        die()
    return event


@parser_fault(around(answers, "read_answer"))
def dies_of_short_trace(
    original: Original, message: Publish, partition: int | None, data: bytes
) -> object:
    """The process dies at an answer to a traced publish that is too short."""
    if message.trace_id is not None and len(data) < _TRACED:
        die()
    return original(message, partition, data)


@parser_fault(around(lookups, "read_lookup"))
def dies_of_other_types(original: Original, body: bytes) -> object:
    """The process dies at a lookup answer whose members are no lists or objects."""
    told = topology.read_object(body)
    lists = all(isinstance(told.get(each, []), list) for each in ("channels", "producers"))
    if not (
        lists and all(isinstance(told.get(each, {}), dict) for each in ("partitions", "meta"))
    ):
        die()
    return original(body)


@parser_fault(around(Lookups, "_read"))
def stops_looking_up(
    original: Original, self: Lookups, address: str, answer: Fetched | None
) -> object:
    """After an answer to a lookup that is no JSON object, no lookup follows."""
    if answer is not None and answer.status == 200:
        try:
            topology.read_object(answer.body)
        except topology.BadAnswer:
            self.stop()
    return original(self, address, answer)


@parser_fault(around(links, "read_features"))
def dies_of_bad_features(original: Original, data: bytes) -> object:
    """The process dies at an answer to IDENTIFY that begins like an object and is none."""
    if data.startswith(b"{") and not original(data):
        die()
    return original(data)


@parser_fault(around(Lane, "_judge"))
def believes_unknown_error(
    original: Original, self: Lane, job: Job, event: Answered | Refused
) -> None:
    """A publish that is refused with an unknown error code is told as a success."""
    if isinstance(event, Refused) and event.code not in _CODES:
        self._producer.settle(job, Receipt(self.place.partition))
        return
    original(self, job, event)


@parser_fault(around(subscriptions, "read_message"))
def cuts_body_at_nul(original: Original, data: bytes, *, extend: bool, ordered: bool) -> Message:
    """The user gets the body of a message up to its first NUL only."""
    message: Message = original(data, extend=extend, ordered=ordered)
    return msgspec.structs.replace(message, body=message.body.partition(b"\0")[0])


FAULTS = list_faults(__name__)
