"""Faults of the rules for who may subscribe."""

from collections.abc import Callable, Sequence

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.nsq.core.channel import Channel
from wireproof_reference_impl.nsq.core.commands import subscribe
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.core.topic import Partition
from wireproof_reference_impl.nsq.delivery import subscribe_rules
from wireproof_reference_impl.nsq.delivery.subscribe_rules import (
    SubscribeRequest,
    desired_tag,
    support_rule,
)
from wireproof_reference_impl.nsq.faulty.late import LATE_NS
from wireproof_reference_impl.nsq.faulty.ways import condition, missing, wrong_value
from wireproof_reference_impl.nsq.wire.refusal import Refusal
from wireproof_reference_impl.nsq.wire.words import show
from wireproof_reference_impl.overrides import Original, Override, around, replace_function
from wireproof_reference_impl.preset import Effect
from wireproof_spec.nsq.error_codes import E_INVALID

Rule = Callable[[SubscribeRequest], Refusal | None]
Unless = Callable[[SubscribeRequest], bool]


def rule_extend(rule: Rule) -> tuple[Override, ...]:
    """Return overrides with another rule for which extend_support a topic needs."""
    return (replace_function(subscribe_rules, "support_rule", rule),)


def lenient(rule: Rule) -> Effect:
    """Return an effect under which clients may subscribe that must be refused.

    Its late twin refuses them, and lets them join 3 s later.
    """
    late = Effect(overrides=(_joining_late(rule),))
    return Effect(overrides=rule_extend(rule), late=late)


def _joining_late(rule: Rule) -> Override:
    def checked_wish(
        original: Original, connection: Connection, words: Sequence[bytes], partition: Partition
    ) -> object:
        try:
            return original(connection, words, partition)
        except Refusal as refusal:
            wish = subscribe.read_wish(connection, words, partition)
            if rule(wish) is not None:
                raise
            channel = subscribe.open_channel(connection, partition, show(words[2]))
            _join_late(connection, channel, wish)
            raise Refusal(refusal.code, refusal.text, fatal=False) from refusal

    return around(subscribe, "checked_wish", checked_wish)


def _join_late(connection: Connection, channel: Channel, wish: SubscribeRequest) -> None:
    subscriber = subscribe.make_subscriber(connection, channel, wish)

    def join(now_ns: int) -> None:
        if not connection.closed:
            channel.join(subscriber)
            channel.serve(now_ns)

    connection.node.timers.at(connection.now_ns + LATE_NS, join)


def _unless(let_through: Unless) -> Rule:
    """Return a rule that admits some clients that should be refused."""
    return lambda wish: None if let_through(wish) else support_rule(wish)


def _refuse_some(unwanted: Unless) -> tuple[Override, ...]:
    """Return overrides that refuse some clients that should be admitted."""

    def rule(wish: SubscribeRequest) -> Refusal | None:
        if unwanted(wish):
            return Refusal(E_INVALID, "cannot SUB as such a client")
        return support_rule(wish)

    return rule_extend(rule)


def _lacks_support(wish: SubscribeRequest) -> bool:
    return wish.topic_extend and not wish.identity.extend_support


def _has_too_much(wish: SubscribeRequest) -> bool:
    return wish.identity.extend_support and not wish.topic_extend


@missing("subscribe.support-accepted", _refuse_some)
def support_refused_everywhere(wish: SubscribeRequest) -> bool:
    """Clients with extend_support are refused on every topic."""
    return wish.identity.extend_support


@condition("subscribe.support-accepted", _refuse_some)
def support_refused_with_tag(wish: SubscribeRequest) -> bool:
    """Clients with extend_support and a desired tag are refused on ext topics."""
    return wish.topic_extend and bool(wish.identity.desired_tag)


@condition("subscribe.support-accepted", _refuse_some)
def support_refused_when_negotiated(wish: SubscribeRequest) -> bool:
    """extend_support is ignored when features are negotiated."""
    return wish.topic_extend and wish.identity.feature_negotiation


@wrong_value("subscribe.support-accepted", replace_function(subscribe_rules, "desired_tag"))
def support_given_a_tag_when_negotiated(wish: SubscribeRequest) -> str | None:
    """Clients that negotiate features with extend_support and desire no tag are given a tag."""
    own = desired_tag(wish)
    given = wish.topic_extend and wish.identity.feature_negotiation
    return own or ("tag" if given else None)


@missing("subscribe.support-needed")
def support_not_needed() -> Change:
    """Clients without extend_support may subscribe to ext topics."""
    return lenient(_unless(_lacks_support))


@condition("subscribe.support-needed")
def support_not_needed_with_tag() -> Change:
    """Clients with a desired tag may subscribe to ext topics without extend_support."""
    return lenient(_unless(lambda wish: _lacks_support(wish) and bool(wish.identity.desired_tag)))


@condition("subscribe.support-needed")
def support_not_needed_when_negotiated() -> Change:
    """Clients that negotiate features may subscribe to ext topics without extend_support."""
    return lenient(
        _unless(lambda wish: _lacks_support(wish) and wish.identity.feature_negotiation)
    )


@missing("subscribe.support-refused")
def support_not_refused() -> Change:
    """Clients with extend_support may subscribe to topics without ext support."""
    return lenient(_unless(_has_too_much))


@condition("subscribe.support-refused")
def support_not_refused_with_tag() -> Change:
    """Clients with extend_support and a desired tag may subscribe to topics without ext
    support.
    """
    return lenient(_unless(lambda wish: _has_too_much(wish) and bool(wish.identity.desired_tag)))


@condition("subscribe.support-refused")
def support_not_refused_when_negotiated() -> Change:
    """Clients that negotiate features may subscribe to topics without ext support with
    extend_support.
    """
    return lenient(_unless(lambda wish: _has_too_much(wish) and wish.identity.feature_negotiation))


@wrong_value("subscribe.tag-ignored", _refuse_some)
def tag_refused_on_plain_topic(wish: SubscribeRequest) -> bool:
    """Clients with a desired tag cannot subscribe to topics without ext support."""
    return (
        not wish.topic_extend
        and bool(wish.identity.desired_tag)
        and not wish.identity.extend_support
    )


@missing("subscribe.tag-ignored", replace_function(subscribe_rules, "desired_tag"))
def tag_kept_on_plain_topic(wish: SubscribeRequest) -> str | None:
    """Clients with a desired tag receive nothing from topics without ext support."""
    return wish.identity.desired_tag or None


@condition("subscribe.tag-ignored", _refuse_some)
def tag_refused_when_negotiated(wish: SubscribeRequest) -> bool:
    """Clients that negotiate features and desire a tag cannot subscribe to topics without ext
    support.
    """
    return (
        not wish.topic_extend
        and bool(wish.identity.desired_tag)
        and wish.identity.feature_negotiation
        and not wish.identity.extend_support
    )


FAULTS = list_faults(__name__)
