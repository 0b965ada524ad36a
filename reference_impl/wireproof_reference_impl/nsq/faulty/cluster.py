"""Faults of a cluster: which node takes messages, and what others say."""

from collections.abc import Callable, Sequence

from wireproof_reference_impl.nsq.behaviour import Settings
from wireproof_reference_impl.nsq.cluster.rules import Role, by_role
from wireproof_reference_impl.nsq.core.refusal import Refusal
from wireproof_reference_impl.nsq.preset import (
    CONDITION,
    EXTRA,
    MISSING,
    MOVED,
    WRONG_VALUE,
    Preset,
    fault,
)
from wireproof_spec.nsq import error_codes
from wireproof_spec.nsq.names import PUB

_NOT_LEADER = "smart.cluster.not-leader"
_ELSEWHERE = "smart.cluster.elsewhere"
_NOT_WRITABLE = "smart.cluster.not-writable"
_AGAIN = "smart.cluster.writable-again"
_NAMED = "smart.cluster.named"
_WRITES = "smart.cluster.moved-writes"
_KEPT = "smart.cluster.moved-kept"
_IDS = "smart.cluster.moved-ids"
_OLD = "smart.cluster.moved-old"
_GONE = "smart.cluster.gone-kept"
_ABSENT = "smart.partition.pub-wrong-partition smart.partition.topic-not-exist"
Judge = Callable[[Role], bool]


def _accepting(accepts: Judge) -> Settings:
    """Return settings under which such publishes are taken, whatever the role."""

    def refusal(role: Role) -> Refusal | None:
        return None if accepts(role) else by_role(role)

    return {"cluster.refusal": refusal}


def _refusing(refuses: Judge, code: str) -> Settings:
    """Return settings under which such publishes are refused with a code."""

    def refusal(role: Role) -> Refusal | None:
        return Refusal(code, fatal=False) if refuses(role) else by_role(role)

    return {"cluster.refusal": refusal}


def _first_here(here: Sequence[int]) -> int | None:
    return here[0]


def _is_new(role: Role) -> bool:
    return role.leads and role.followed


def _is_old(role: Role) -> bool:
    return role.led and not role.leads


def _other_command(role: Role) -> bool:
    return role.command != PUB


FAULTS: tuple[Preset, ...] = (
    fault(
        "follower-takes-messages",
        "a follower takes messages as if it led",
        breaks=f"{_NOT_LEADER} {_OLD}",
        may_break=MOVED,
        settings=_accepting(lambda role: not role.leads),
        way=MISSING,
    ),
    fault(
        "follower-takes-batches",
        "a follower refuses PUB only",
        breaks=_NOT_LEADER,
        may_break=MOVED,
        settings=_accepting(lambda role: not role.leads and _other_command(role)),
        way=CONDITION,
    ),
    fault(
        "follower-says-not-exist",
        "a follower says of a topic that it does not exist",
        breaks=_NOT_LEADER,
        settings=_refusing(lambda role: not role.leads, error_codes.E_TOPIC_NOT_EXIST),
        way=WRONG_VALUE,
    ),
    fault(
        "follower-says-invalid",
        "a follower refuses messages with E_INVALID",
        breaks=f"{_NOT_LEADER} {_OLD}",
        may_break=f"{_WRITES} {_KEPT} {_GONE} {_IDS}",
        settings=_refusing(lambda role: not role.leads, error_codes.E_INVALID),
        way=WRONG_VALUE,
    ),
    fault(
        "stranger-takes-messages",
        "a node stores messages for a partition it does not keep in another one",
        breaks=_ELSEWHERE,
        may_break=f"{_ABSENT} {_NAMED}",
        settings={"cluster.instead": _first_here},
        way=MISSING,
    ),
    fault(
        "stranger-says-bad-topic",
        "a node says of a partition it does not keep that the topic's name is bad",
        breaks=_ELSEWHERE,
        may_break=_ABSENT,
        settings={"cluster.absent": error_codes.E_BAD_TOPIC},
        way=WRONG_VALUE,
    ),
    fault(
        "stranger-says-failed",
        "a node says of a partition it does not keep that publishing failed",
        breaks=_ELSEWHERE,
        may_break=_ABSENT,
        settings={"cluster.absent": error_codes.E_PUB_FAILED},
        way=WRONG_VALUE,
    ),
    fault(
        "unwritable-takes-messages",
        "a partition that may not be written takes messages",
        breaks=_NOT_WRITABLE,
        settings=_accepting(lambda role: role.leads),
        way=MISSING,
    ),
    fault(
        "unwritable-takes-batches",
        "a partition that may not be written refuses PUB only",
        breaks=_NOT_WRITABLE,
        settings=_accepting(lambda role: role.leads and _other_command(role)),
        way=CONDITION,
    ),
    fault(
        "unwritable-says-not-leader",
        "a partition that may not be written says that another node leads it",
        breaks=_NOT_WRITABLE,
        settings=_refusing(
            lambda role: role.leads and not role.writable, error_codes.E_FAILED_ON_NOT_LEADER
        ),
        way=WRONG_VALUE,
    ),
    fault(
        "unwritable-for-ever",
        "a partition that was unwritable once takes no messages any more",
        breaks=_AGAIN,
        settings=_refusing(lambda role: role.barred, error_codes.E_FAILED_ON_NOT_WRITABLE),
        way=MISSING,
    ),
    fault(
        "new-leader-unwritable",
        "a node that has come to lead takes no messages",
        breaks=_WRITES,
        may_break=MOVED,
        settings=_refusing(_is_new, error_codes.E_FAILED_ON_NOT_WRITABLE),
        way=MISSING,
    ),
    fault(
        "new-leader-denies",
        "a node that has come to lead says that it does not",
        breaks=_WRITES,
        may_break=MOVED,
        settings=_refusing(_is_new, error_codes.E_FAILED_ON_NOT_LEADER),
        way=WRONG_VALUE,
    ),
    fault(
        "new-leader-fails",
        "a node that has come to lead fails to publish",
        breaks=_WRITES,
        may_break=MOVED,
        settings=_refusing(_is_new, error_codes.E_PUB_FAILED),
        way=CONDITION,
    ),
    fault(
        "old-leader-goes-on",
        "a node that leads no longer goes on taking messages",
        breaks=_OLD,
        may_break=MOVED,
        settings=_accepting(_is_old),
        way=EXTRA,
    ),
    fault(
        "old-leader-says-unwritable",
        "a node that leads no longer says that nothing may be written",
        breaks=_OLD,
        settings=_refusing(_is_old, error_codes.E_FAILED_ON_NOT_WRITABLE),
        way=WRONG_VALUE,
    ),
)
