"""Faults of the rules for who may subscribe."""

from collections.abc import Callable, Sequence

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
from wireproof_reference_impl.nsq.preset import (
    CONDITION,
    MISSING,
    Preset,
    condition,
    fault,
    missing,
    wrong_value,
)
from wireproof_reference_impl.nsq.wire.refusal import Refusal
from wireproof_reference_impl.nsq.wire.words import show
from wireproof_reference_impl.overrides import Original, Override, around, replace_function
from wireproof_spec.nsq.error_codes import E_INVALID

Rule = Callable[[SubscribeRequest], Refusal | None]
Unless = Callable[[SubscribeRequest], bool]


def rule_extend(rule: Rule) -> tuple[Override, ...]:
    """Return overrides with another rule for which extend_support a topic needs."""
    return (replace_function(subscribe_rules, "support_rule", rule),)


def lenient(
    name: str, text: str, rule: Rule, *, breaks: str, way: str, may_break: str = ""
) -> Preset:
    """Return a fault with a rule under which clients may subscribe that must be refused.

    Its late twin refuses them, and lets them join 3 s later.
    """
    return fault(
        name,
        text,
        breaks=breaks,
        may_break=may_break,
        way=way,
        overrides=rule_extend(rule),
        late_overrides=(_joining_late(rule),),
    )


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


def _tag_everywhere(wish: SubscribeRequest) -> str | None:
    return wish.identity.desired_tag or None


def _some_tag_when_negotiated(wish: SubscribeRequest) -> str | None:
    """Set a desired tag for a client without one, if it negotiates features."""
    own = desired_tag(wish)
    given = wish.topic_extend and wish.identity.feature_negotiation
    return own or ("tag" if given else None)


def _lacks_support(wish: SubscribeRequest) -> bool:
    return wish.topic_extend and not wish.identity.extend_support


def _has_too_much(wish: SubscribeRequest) -> bool:
    return wish.identity.extend_support and not wish.topic_extend


_ACCEPTED = "subscribe.support-accepted"
_NEEDED = "subscribe.support-needed"
_REFUSED = "subscribe.support-refused"
_IGNORED = "subscribe.tag-ignored"

FAULTS: tuple[Preset, ...] = (
    missing(
        "support-refused-everywhere",
        "clients with extend_support are refused on every topic",
        breaks=_ACCEPTED,
        may_break="upgrade.subscribe-rules",
        overrides=_refuse_some(lambda wish: wish.identity.extend_support),
    ),
    condition(
        "support-refused-with-tag",
        "clients with extend_support and a desired tag are refused on ext topics",
        breaks=_ACCEPTED,
        may_break="upgrade.subscribe-rules",
        overrides=_refuse_some(lambda wish: wish.topic_extend and bool(wish.identity.desired_tag)),
    ),
    condition(
        "support-refused-when-negotiated",
        "extend_support is ignored when features are negotiated",
        breaks=_ACCEPTED,
        overrides=_refuse_some(
            lambda wish: wish.topic_extend and wish.identity.feature_negotiation
        ),
    ),
    wrong_value(
        "support-given-a-tag-when-negotiated",
        "clients that negotiate features with extend_support and desire no tag are given a tag",
        breaks=_ACCEPTED,
        may_break="dispatch.to-matching",
        overrides=(replace_function(subscribe_rules, "desired_tag", _some_tag_when_negotiated),),
    ),
    lenient(
        "support-not-needed",
        "clients without extend_support may subscribe to ext topics",
        _unless(_lacks_support),
        way=MISSING,
        breaks=_NEEDED,
        may_break="upgrade.subscribe-rules",
    ),
    lenient(
        "support-not-needed-with-tag",
        "clients with a desired tag may subscribe to ext topics without extend_support",
        _unless(lambda wish: _lacks_support(wish) and bool(wish.identity.desired_tag)),
        way=CONDITION,
        breaks=_NEEDED,
        may_break="upgrade.subscribe-rules",
    ),
    lenient(
        "support-not-needed-when-negotiated",
        "clients that negotiate features may subscribe to ext topics without extend_support",
        _unless(lambda wish: _lacks_support(wish) and wish.identity.feature_negotiation),
        way=CONDITION,
        breaks=_NEEDED,
    ),
    lenient(
        "support-not-refused",
        "clients with extend_support may subscribe to topics without ext support",
        _unless(_has_too_much),
        way=MISSING,
        breaks=_REFUSED,
    ),
    lenient(
        "support-not-refused-with-tag",
        "clients with extend_support and a desired tag may subscribe to topics without ext "
        "support",
        _unless(lambda wish: _has_too_much(wish) and bool(wish.identity.desired_tag)),
        way=CONDITION,
        breaks=_REFUSED,
    ),
    lenient(
        "support-not-refused-when-negotiated",
        "clients that negotiate features may subscribe to topics without ext support with "
        "extend_support",
        _unless(lambda wish: _has_too_much(wish) and wish.identity.feature_negotiation),
        way=CONDITION,
        breaks=_REFUSED,
    ),
    wrong_value(
        "tag-refused-on-plain-topic",
        "clients with a desired tag cannot subscribe to topics without ext support",
        breaks=_IGNORED,
        overrides=_refuse_some(
            lambda wish: (
                not wish.topic_extend
                and bool(wish.identity.desired_tag)
                and not wish.identity.extend_support
            )
        ),
    ),
    missing(
        "tag-kept-on-plain-topic",
        "clients with a desired tag receive nothing from topics without ext support",
        breaks=_IGNORED,
        overrides=(replace_function(subscribe_rules, "desired_tag", _tag_everywhere),),
    ),
    condition(
        "tag-refused-when-negotiated",
        "clients that negotiate features and desire a tag cannot subscribe to topics without "
        "ext support",
        breaks=_IGNORED,
        overrides=_refuse_some(
            lambda wish: (
                not wish.topic_extend
                and bool(wish.identity.desired_tag)
                and wish.identity.feature_negotiation
                and not wish.identity.extend_support
            )
        ),
    ),
)
