"""Faults of a client of generation apache at refusals, evictions, and what no server sends."""

from contextlib import suppress
from typing import cast

from wireproof_reference_impl.client_faults import die
from wireproof_reference_impl.faults import list_faults
from wireproof_reference_impl.iggy.client.core import http, messages, operations
from wireproof_reference_impl.iggy.client.core.apache import messages as apache
from wireproof_reference_impl.iggy.client.core.apache import tcp
from wireproof_reference_impl.iggy.client.core.apache.tcp import ApacheTransport
from wireproof_reference_impl.iggy.client.core.calls import (
    Created,
    CreateStream,
    Evicted,
    Lost,
    Poll,
    Refused,
    Send,
    Unreadable,
)
from wireproof_reference_impl.iggy.client.core.http import HttpTransport
from wireproof_reference_impl.iggy.client.core.operations import Operation
from wireproof_reference_impl.iggy.faulty.clients.apache.ways import (
    condition,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, around, replace_function
from wireproof_spec.iggy.apache.evictions import STALE_CLIENT
from wireproof_spec.iggy.apache.frames import Eviction
from wireproof_spec.iggy.apache.statuses import STATUSES
from wireproof_spec.iggy.message import Message

_NOT_FOUND = 404
_END_OF_LOGINS = 11


@missing("refusal-told", replace_function(operations, "send"))
def refused_send_done(wanted: Send) -> Operation[None]:
    """Messages that the server denies are reported as sent."""
    with suppress(Refused):
        yield wanted


@condition("refusal-told", replace_function(operations, "poll"))
def refused_poll_empty(wanted: Poll) -> Operation[tuple[Message, ...]]:
    """A poll that the server denies with an unknown status has no messages."""
    try:
        return (yield from operations.poll_again(wanted))
    except Refused as refused:
        if refused.code in STATUSES:
            raise
        return ()


@condition("refusal-told", replace_function(operations, "create_stream"))
def rejection_not_read(name: str) -> Operation[Created]:
    """A stream that the server rejects in the result section is reported as created."""
    try:
        return cast(Created, (yield CreateStream(name)))
    except Refused:
        return Created(0, name)


@missing("eviction-told", replace_function(operations, "send"))
def evicted_send_done(wanted: Send) -> Operation[None]:
    """Messages that were answered with an eviction are reported as sent."""
    with suppress(Evicted):
        yield wanted


@wrong_value("eviction-told", replace_function(operations, "poll"))
def evicted_poll_empty(wanted: Poll) -> Operation[tuple[Message, ...]]:
    """A poll that was answered with an eviction has no messages."""
    try:
        return (yield from operations.poll_again(wanted))
    except Evicted:
        return ()


@missing("eviction", around(tcp, "evicted"))
def session_kept(original: Original, eviction: Eviction) -> Refused:
    """An eviction is taken for a refusal, and the session for one that lives."""
    found: Evicted = original(eviction)
    return Refused(found.code, str(found))


def _stale_refused(original: Original, eviction: Eviction) -> object:
    """Return a refusal for a client that is stale, as if its session lived."""
    found: Evicted = original(eviction)
    return Refused(found.code, str(found)) if found.code == STALE_CLIENT else found


@condition(
    "eviction",
    replace_function(operations, "poll"),
    also=(around(tcp, "evicted", _stale_refused),),
)
def polls_again_when_stale(wanted: Poll) -> Operation[tuple[Message, ...]]:
    """A client that is stale polls once more in the same session."""
    try:
        return (yield from operations.poll_again(wanted))
    except Refused:
        return (yield from operations.poll_again(wanted))


@missing("eviction-reason window-told", around(tcp, "evicted"))
def reason_hidden(original: Original, eviction: Eviction) -> Evicted:
    """The user is told of an eviction, and not of its reason."""
    return Evicted(0, "the connection ended")


@condition("eviction-reason", around(tcp, "evicted"))
def refused_logins_alike(original: Original, eviction: Eviction) -> object:
    """All evictions that end a login are told alike."""
    is_login = eviction.header.reason <= _END_OF_LOGINS
    return Evicted(40, "unauthenticated") if is_login else original(eviction)


@condition("window-told", around(tcp, "evicted"))
def window_hidden(original: Original, eviction: Eviction) -> Evicted:
    """The user is told that the version is refused, and not which ones are accepted."""
    found: Evicted = original(eviction)
    return Evicted(found.code, str(found).partition(";")[0])


@missing("unanswered", replace_function(operations, "send"))
def success_when_lost(wanted: Send) -> Operation[None]:
    """Messages are reported as sent when the connection is lost."""
    with suppress(Lost):
        yield wanted


@condition("unanswered", replace_function(operations, "send"))
def success_when_closed(wanted: Send) -> Operation[None]:
    """Messages are reported as sent when the server closes the connection."""
    try:
        yield wanted
    except Lost as lost:
        if "closed" not in str(lost):
            raise


@condition("survives", around(apache, "read_polled"))
def dies_at_cut_batch(original: Original, *given: object) -> object:
    """The process ends at batches that cannot be read."""
    try:
        return original(*given)
    except Unreadable:
        die()


@condition("survives", around(ApacheTransport, "receive"))
def dies_at_unknown_command(original: Original, *given: object) -> object:
    """The process ends at a frame with an unknown command."""
    try:
        return original(*given)
    except Lost as lost:
        if "command" in str(lost):
            die()
        raise


@missing("survives", around(messages, "read_json"))
def dies_at_bad_json(original: Original, *given: object) -> object:
    """The process ends at JSON that cannot be read."""
    try:
        return original(*given)
    except Unreadable:
        die()


@missing("json-refused", around(HttpTransport, "_answer"))
def json_refusals_ignored(original: Original, self: HttpTransport) -> object:
    """Over HTTP an error is taken for success without a message."""
    try:
        return original(self)
    except Refused:
        return ()


@condition("json-refused", around(http, "check_status"))
def json_not_found_ignored(original: Original, status: int, body: bytes) -> None:
    """Over HTTP a target that is not found is taken for an empty one."""
    if status != _NOT_FOUND:
        original(status, body)


FAULTS = list_faults(__name__)
