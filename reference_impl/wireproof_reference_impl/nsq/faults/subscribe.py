"""Faults of the rules for who may subscribe."""

from collections.abc import Callable

from wireproof_reference_impl.nsq.behaviour import Settings
from wireproof_reference_impl.nsq.core.refusal import Refusal
from wireproof_reference_impl.nsq.core.subscribe_rules import Wish, desired_tag, support_rule
from wireproof_reference_impl.nsq.preset import CONDITION, MISSING, WRONG_VALUE, Preset, fault
from wireproof_spec.nsq.error_codes import E_INVALID

Unless = Callable[[Wish], bool]


def _lenient(let_through: Unless) -> Settings:
    """Return settings under which some clients pass that should not."""

    def rule(wish: Wish) -> Refusal | None:
        return None if let_through(wish) else support_rule(wish)

    return {"subscribe.rule": rule}


def _refusing(unwanted: Unless) -> Settings:
    """Return settings under which some clients are refused that should pass."""

    def rule(wish: Wish) -> Refusal | None:
        if unwanted(wish):
            return Refusal(E_INVALID, "cannot SUB as such a client")
        return support_rule(wish)

    return {"subscribe.rule": rule}


def _tag_everywhere(wish: Wish) -> str | None:
    return wish.identity.desired_tag or None


def _some_tag_when_negotiated(wish: Wish) -> str | None:
    """Give a client that has no desired tag one, if it negotiates features."""
    own = desired_tag(wish)
    given = wish.topic_extend and wish.identity.feature_negotiation
    return own or ("tag" if given else None)


def _lacks_support(wish: Wish) -> bool:
    return wish.topic_extend and not wish.identity.extend_support


def _has_too_much(wish: Wish) -> bool:
    return wish.identity.extend_support and not wish.topic_extend


_ACCEPTED = "subscribe.support-accepted"
_NEEDED = "subscribe.support-needed"
_REFUSED = "subscribe.support-refused"
_IGNORED = "subscribe.tag-ignored"

FAULTS: tuple[Preset, ...] = (
    fault(
        "support-refused-everywhere",
        "clients with extend_support are refused on every topic",
        way=MISSING,
        breaks=_ACCEPTED,
        may_break="upgrade.subscribe-rules",
        settings=_refusing(lambda wish: wish.identity.extend_support),
    ),
    fault(
        "support-refused-with-tag",
        "clients with extend_support and a desired tag are refused on ext topics",
        way=CONDITION,
        breaks=_ACCEPTED,
        may_break="upgrade.subscribe-rules",
        settings=_refusing(lambda wish: wish.topic_extend and bool(wish.identity.desired_tag)),
    ),
    fault(
        "support-refused-when-negotiated",
        "extend_support is overlooked when features are negotiated",
        way=CONDITION,
        breaks=_ACCEPTED,
        settings=_refusing(lambda wish: wish.topic_extend and wish.identity.feature_negotiation),
    ),
    fault(
        "support-given-a-tag-when-negotiated",
        "clients with extend_support that negotiate features and desire no tag are given one",
        way=WRONG_VALUE,
        breaks=_ACCEPTED,
        may_break="dispatch.to-matching",
        settings={"subscribe.desired_tag": _some_tag_when_negotiated},
    ),
    fault(
        "support-not-needed",
        "clients without extend_support subscribe to ext topics",
        way=MISSING,
        delivers_wrongly=True,
        breaks=_NEEDED,
        may_break="upgrade.subscribe-rules",
        settings=_lenient(_lacks_support),
    ),
    fault(
        "support-not-needed-with-tag",
        "clients with a desired tag subscribe to ext topics without extend_support",
        way=CONDITION,
        delivers_wrongly=True,
        breaks=_NEEDED,
        may_break="upgrade.subscribe-rules",
        settings=_lenient(lambda wish: _lacks_support(wish) and bool(wish.identity.desired_tag)),
    ),
    fault(
        "support-not-needed-when-negotiated",
        "clients that negotiate features subscribe to ext topics without extend_support",
        way=CONDITION,
        delivers_wrongly=True,
        breaks=_NEEDED,
        settings=_lenient(lambda wish: _lacks_support(wish) and wish.identity.feature_negotiation),
    ),
    fault(
        "support-not-refused",
        "clients with extend_support subscribe to plain topics",
        way=MISSING,
        delivers_wrongly=True,
        breaks=_REFUSED,
        settings=_lenient(_has_too_much),
    ),
    fault(
        "support-not-refused-with-tag",
        "clients with extend_support and a desired tag subscribe to plain topics",
        way=CONDITION,
        delivers_wrongly=True,
        breaks=_REFUSED,
        settings=_lenient(lambda wish: _has_too_much(wish) and bool(wish.identity.desired_tag)),
    ),
    fault(
        "support-not-refused-when-negotiated",
        "clients that negotiate features subscribe to plain topics with extend_support",
        way=CONDITION,
        delivers_wrongly=True,
        breaks=_REFUSED,
        settings=_lenient(lambda wish: _has_too_much(wish) and wish.identity.feature_negotiation),
    ),
    fault(
        "tag-refused-on-plain-topic",
        "clients with a desired tag are refused on plain topics",
        way=WRONG_VALUE,
        breaks=_IGNORED,
        settings=_refusing(
            lambda wish: (
                not wish.topic_extend
                and bool(wish.identity.desired_tag)
                and not wish.identity.extend_support
            )
        ),
    ),
    fault(
        "tag-kept-on-plain-topic",
        "clients with a desired tag get nothing on plain topics",
        way=MISSING,
        breaks=_IGNORED,
        settings={"subscribe.desired_tag": _tag_everywhere},
    ),
    fault(
        "tag-refused-when-negotiated",
        "clients with a desired tag that negotiate features are refused on plain topics",
        way=CONDITION,
        breaks=_IGNORED,
        settings=_refusing(
            lambda wish: (
                not wish.topic_extend
                and bool(wish.identity.desired_tag)
                and wish.identity.feature_negotiation
                and not wish.identity.extend_support
            )
        ),
    ),
)
