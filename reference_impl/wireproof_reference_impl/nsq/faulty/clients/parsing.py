"""Parser faults of the example client, for fuzzing to find by broken frames and answers."""

# An override reaches into the core from outside, and is called with whatever the core has there.
# pyright: reportPrivateUsage=false, reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

from collections.abc import Callable
from typing import cast

import msgspec

from wireproof_reference_impl.client_faults import parser_fault
from wireproof_reference_impl.nsq.client.core import answers, lookups, topology
from wireproof_reference_impl.nsq.client.core import link as links
from wireproof_reference_impl.nsq.client.core import subscription as subscriptions
from wireproof_reference_impl.nsq.client.core.commands import Publish
from wireproof_reference_impl.nsq.client.core.connection import (
    Answered,
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
from wireproof_reference_impl.nsq.faulty.clients.rows import around, constant, die
from wireproof_reference_impl.overrides import Original, Override
from wireproof_spec.nsq import error_codes
from wireproof_spec.nsq.frame import FRAME_TYPE_MESSAGE, ServerFrame

_ID, _ID_END, _PLACE_END = slice(10, 26), 26, 38
"""Where in a message its id stands, and where offset and size end that follow it."""
_TRACED = 30
_CODES = frozenset(code for name, code in vars(error_codes).items() if name.startswith("E_"))
_stuck: list[NodeConnection] = []
"""The connection that waits for the rest of an impossible frame; then none is read any more."""


def _reads(act: Callable[[ServerFrame], object]) -> Override:
    """Do this with every frame before it is read."""

    def call(original: Original, self: NodeConnection, frame: ServerFrame) -> object:
        act(frame)
        return original(self, frame)

    return around(NodeConnection, "_read", call)


def _die_of_type(frame: ServerFrame) -> None:
    if frame.frame_type > FRAME_TYPE_MESSAGE:
        die()


def _die_inside_place(original: Original, self: Subscription, data: bytes) -> None:
    if self.wants.ordered and _ID_END < len(data) < _PLACE_END:
        die()
    original(self, data)


def _give_back_another(original: Original, self: Subscription, data: bytes) -> None:
    try:
        read_message(data, extend=self._extend, ordered=self.wants.ordered)
    except BadMessage as error:
        data = data[: _ID.start] + error.id[::-1] + data[_ID_END:] if error.id else data
    original(self, data)


def _finish_unknown(original: Original, self: Link, data: bytes) -> None:
    """Finish what looks like a message, whatever the type of its frame."""
    original(self, data)
    if int.from_bytes(data[4:8], "big") > FRAME_TYPE_MESSAGE and len(data) >= 8 + _ID_END:
        self.send(b"FIN " + data[8:][_ID] + b"\n")


def _wait_for_more(original: Original, self: NodeConnection, data: bytes) -> object:
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


def _die_unasked(original: Original, self: NodeConnection, data: bytes) -> object:
    event = original(self, data)
    if getattr(event, "is_answer", False):
        die()
    return event


def _die_of_short_trace(
    original: Original, message: Publish, partition: int | None, data: bytes
) -> object:
    if message.trace_id is not None and len(data) < _TRACED:
        die()
    return original(message, partition, data)


def _die_of_other_types(original: Original, body: bytes) -> object:
    told = topology.read_object(body)
    lists = all(isinstance(told.get(each, []), list) for each in ("channels", "producers"))
    if not (
        lists and all(isinstance(told.get(each, {}), dict) for each in ("partitions", "meta"))
    ):
        die()
    return original(body)


def _forget_bad(original: Original, self: Lookups, address: str, answer: Fetched | None) -> object:
    """Never end a round in which an answer is no document."""
    if answer is not None and answer.status == 200:
        try:
            topology.read_object(answer.body)
        except topology.BadAnswer:
            self.stop()
    return original(self, address, answer)


def _die_of_features(original: Original, data: bytes) -> object:
    if data.startswith(b"{") and not original(data):
        die()
    return original(data)


def _believe_unknown(original: Original, self: Lane, job: Job, event: Answered | Refused) -> None:
    """Tell the user that a message was published when its error has a code that is not known."""
    if isinstance(event, Refused) and event.code not in _CODES:
        self._producer.settle(job, Receipt(self.place.partition))
        return
    original(self, job, event)


def _cut_at_nul(original: Original, data: bytes, *, extend: bool, ordered: bool) -> Message:
    message = cast(Message, original(data, extend=extend, ordered=ordered))
    return msgspec.structs.replace(message, body=message.body.partition(b"\0")[0])


FAULTS = (
    parser_fault(
        "dies-inside-place",
        "The process dies at a message in order that ends inside its offset or size.",
        around(Subscription, "_take_message", _die_inside_place),
    ),
    parser_fault(
        "dies-of-unknown-type",
        "The process dies at a frame of a type that is not known.",
        _reads(_die_of_type),
    ),
    parser_fault(
        "gives-back-another",
        "A message that cannot be read is given back by its id read backwards.",
        around(Subscription, "_take_message", _give_back_another),
    ),
    parser_fault(
        "finishes-unknown-type",
        "What is in a frame of a type that is not known is finished like a message.",
        around(Link, "received", _finish_unknown),
    ),
    parser_fault(
        "waits-for-huge-frame",
        "A size that no frame has is waited for, and nothing is read from then on.",
        around(NodeConnection, "receive", _wait_for_more),
        around(Link, "open", _never_again),
    ),
    parser_fault(
        "spins-on-dead-lookup",
        "A round of lookups in which nobody answers is followed by the next one at once.",
        constant(lookups, "retry_delay", 0.0),
        constant(lookups, "gap", 0.0),
    ),
    parser_fault(
        "dies-of-second-answer",
        "The process dies at a response that answers nothing.",
        around(NodeConnection, "_response", _die_unasked),
    ),
    parser_fault(
        "dies-of-short-trace",
        "The process dies at an answer to a traced publish that is too short.",
        around(answers, "read_answer", _die_of_short_trace),
    ),
    parser_fault(
        "dies-of-other-types",
        "The process dies at a lookup answer whose members are no lists or objects.",
        around(lookups, "read_lookup", _die_of_other_types),
    ),
    parser_fault(
        "stops-looking-up",
        "After an answer to a lookup that is no JSON object, no lookup follows.",
        around(Lookups, "_read", _forget_bad),
    ),
    parser_fault(
        "dies-of-bad-features",
        "The process dies at an answer to IDENTIFY that begins like an object and is none.",
        around(links, "read_features", _die_of_features),
    ),
    parser_fault(
        "believes-unknown-error",
        "A publish that is refused with an unknown error code is told as a success.",
        around(Lane, "_judge", _believe_unknown),
    ),
    parser_fault(
        "cuts-body-at-nul",
        "The user gets the body of a message up to its first NUL only.",
        around(subscriptions, "read_message", _cut_at_nul),
    ),
)
