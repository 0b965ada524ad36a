"""RDY, FIN, REQ, TOUCH, CLS and NOP."""

from collections.abc import Sequence

from wireproof_reference_impl.nsq.core.channel import Channel
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.core.states import Event, State
from wireproof_reference_impl.nsq.delivery.in_flight import NotInFlight
from wireproof_reference_impl.nsq.delivery.subscriber import Subscriber
from wireproof_reference_impl.nsq.wire.identity import MILLISECOND
from wireproof_reference_impl.nsq.wire.refusal import Refusal
from wireproof_reference_impl.nsq.wire.words import byte_list, digits, show
from wireproof_spec.nsq import error_codes, limits
from wireproof_spec.nsq.names import CLOSE_WAIT

_MOST_HELD_NS = limits.MAX_MSG_TIMEOUT_MS * MILLISECOND


def rdy(connection: Connection, words: Sequence[bytes]) -> None:
    """Run RDY: set how many messages the client may hold; ignored after CLS."""
    connection.move(Event.RDY)
    if connection.state is State.CLOSING:
        return
    count = 1 if len(words) < 2 else digits(words[1])
    if count is None:
        text = f"RDY could not parse count {show(words[1])}"
        raise Refusal(error_codes.E_INVALID, text)
    if count > limits.MAX_RDY_COUNT:
        text = f"RDY count {count} out of range 0-{limits.MAX_RDY_COUNT}"
        raise Refusal(error_codes.E_INVALID, text)
    channel, subscriber = _subscription(connection)
    channel.set_ready(subscriber, count)
    _serve(connection)


def fin(connection: Connection, words: Sequence[bytes]) -> None:
    """Run FIN: finish a message."""
    connection.move(Event.FIN)
    channel, subscriber = _subscription(connection)
    try:
        channel.in_flight.finish(_internal_id(words[1]), subscriber)
    except NotInFlight as error:
        raise _not_held(error_codes.E_FIN_FAILED, words) from error
    _serve(connection)


def req(connection: Connection, words: Sequence[bytes]) -> None:
    """Run REQ: requeue a message, to be delivered again after a delay in milliseconds."""
    connection.move(Event.REQ)
    if len(words) < 3:
        raise Refusal(error_codes.E_INVALID, "REQ insufficient number of params")
    delay_ms = digits(words[2])
    if delay_ms is None:
        text = f"REQ could not parse timeout {show(words[1])}, {show(words[2])}"
        raise Refusal(error_codes.E_INVALID, text)
    channel, subscriber = _subscription(connection)
    delay_ns = min(delay_ms, limits.MAX_REQ_TIMEOUT_MS) * MILLISECOND
    try:
        channel.requeue(
            _internal_id(words[1]), subscriber, delay_ns=delay_ns, now_ns=connection.now_ns
        )
    except NotInFlight as error:
        raise _not_held(error_codes.E_REQ_FAILED, words) from error


def touch(connection: Connection, words: Sequence[bytes]) -> None:
    """Run TOUCH: restart the time limit of a message."""
    connection.move(Event.TOUCH)
    channel, subscriber = _subscription(connection)
    try:
        channel.in_flight.touch(
            _internal_id(words[1]),
            subscriber,
            now_ns=connection.now_ns,
            most_ns=_MOST_HELD_NS,
        )
    except NotInFlight as error:
        raise _not_held(error_codes.E_TOUCH_FAILED, words) from error
    _serve(connection)


def cls(connection: Connection, words: Sequence[bytes]) -> None:
    """Run CLS: send no more messages; the client may still answer those it holds."""
    connection.move(Event.CLS)
    _, subscriber = _subscription(connection)
    subscriber.ready = 0
    connection.respond(CLOSE_WAIT)


def nop(connection: Connection, words: Sequence[bytes]) -> None:
    """Run NOP: do nothing; the received line itself shows that the client is alive."""


def _subscription(connection: Connection) -> tuple[Channel, Subscriber]:
    if connection.channel is None or connection.subscriber is None:
        raise Refusal(error_codes.E_INVALID, "no channel in current state")
    return connection.channel, connection.subscriber


def _serve(connection: Connection) -> None:
    channel, _ = _subscription(connection)
    connection.node.touch(channel)


def _internal_id(message_id: bytes) -> int:
    internal_id = int.from_bytes(message_id[:8], signed=True)
    if internal_id <= 0:
        raise Refusal(error_codes.E_INVALID, "Invalid Message ID")
    return internal_id


def _not_held(code: str, words: Sequence[bytes]) -> Refusal:
    text = f"{show(words[0])} {byte_list(words[1])} failed Message ID not in flight"
    return Refusal(code, text, fatal=False)
