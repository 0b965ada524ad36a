"""Legal variants of the example client in whom it asks, what it traces and what it logs."""

from msgspec.structs import replace

from wireproof_reference_impl.client_faults import client_variant
from wireproof_reference_impl.nsq.client.core import lookups
from wireproof_reference_impl.nsq.client.core import producer as producers
from wireproof_reference_impl.nsq.client.core import subscription as subscriptions
from wireproof_reference_impl.nsq.client.core.commands import Publish
from wireproof_reference_impl.nsq.client.core.effects import Receipt
from wireproof_reference_impl.nsq.client.core.message import Message
from wireproof_reference_impl.nsq.client.core.order import OrderCheck
from wireproof_reference_impl.nsq.client.core.producer import Producer
from wireproof_reference_impl.nsq.client.core.subscription import Subscription
from wireproof_reference_impl.overrides import Original, around
from wireproof_reference_impl.preset import alternative

_SIGN, _MODULUS = 1 << 63, 1 << 64


def _signed(number: int | None) -> int | None:
    return number if number is None or number < _SIGN else number - _MODULUS


def _log_signed(original: Original, topic: str, receipt: Receipt) -> object:
    shown = replace(
        receipt,
        internal_id=_signed(receipt.internal_id),
        trace_id=_signed(receipt.trace_id),
        disk_queue_offset=_signed(receipt.disk_queue_offset),
    )
    return original(topic, shown)


def _log_offset(
    original: Original, subscription: Subscription, order: OrderCheck, message: Message
) -> None:
    """Log a message that was attempted often by its place in the queue."""
    original(subscription, order, replace(message, attempts=1))
    if message.attempts > subscription.wants.logged_attempts:
        subscription.log(f"offset {message.disk_queue_offset}: {message.attempts} attempts")


def _by_two_names(
    original: Original, listed: tuple[str, ...], configured: tuple[str, ...]
) -> tuple[str, ...]:
    """Ask a server that is both configured and listed twice: nobody knows that it is one."""
    named = (f"localhost:{each.rpartition(':')[2]}" for each in configured)
    return tuple(dict.fromkeys([*listed, *named]))


def _always_traced(original: Original, self: Producer, ticket: int, publish: Publish) -> None:
    traced = 1 if publish.trace_id is None and not publish.has_header else publish.trace_id
    original(self, ticket, replace(publish, trace_id=traced))


VARIANTS = (
    client_variant(
        "logs-signed",
        "A producer that traces logs numbers with bit 63 set as negative ones.",
        around(producers, "tell_published", _log_signed),
    ),
    client_variant(
        "attempts-logged-by-offset",
        "A message in order that was attempted often is logged by its offset.",
        around(subscriptions, "check_order", _log_offset),
    ),
    client_variant(
        "server-by-two-names",
        "The configured lookup server is asked by its configured and by its listed address.",
        around(lookups, "known_servers", _by_two_names),
    ),
    alternative(
        "client-traces-always",
        "A producer traces every message without a header.",
        overrides=(around(Producer, "publish", _always_traced),),
    ),
)
