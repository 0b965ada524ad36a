"""Faults of a cluster: which node accepts messages, and what other nodes answer."""

from collections.abc import Callable, Sequence
from typing import NamedTuple
from weakref import WeakSet, WeakValueDictionary

from wireproof_reference_impl.nsq.core.channel import Channel
from wireproof_reference_impl.nsq.core.commands import publish
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.core.topic import Partition
from wireproof_reference_impl.nsq.faulty.neighbours import NOTED, partition_of
from wireproof_reference_impl.nsq.preset import (
    MOVED,
    Preset,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.nsq.wire.message import NewMessage
from wireproof_reference_impl.nsq.wire.refusal import Refusal
from wireproof_reference_impl.overrides import Original, Override, around
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


class Role(NamedTuple):
    """The role of a node for a partition when a publish command arrives.

    `followed` and `led`: it has been a follower or the leader. `barred`: the partition was not
    writable at some time. `alone`: no other node copies the partition now.
    """

    command: bytes
    leads: bool
    writable: bool
    followed: bool
    led: bool
    barred: bool
    alone: bool


Judge = Callable[[Role], bool]


class _Roles:
    """The roles that nodes have and had for partitions, recorded by overrides."""

    def __init__(self) -> None:
        self._command = b""
        self._followed: WeakSet[Partition] = WeakSet()
        self._led: WeakSet[Partition] = WeakSet()
        self._barred: WeakSet[Partition] = WeakSet()

    def of(self, partition: Partition) -> Role:
        """Return the role of this node for a partition."""
        return Role(
            self._command,
            partition.leads,
            partition.writable,
            partition in self._followed,
            partition in self._led,
            partition in self._barred,
            not partition.followers,
        )

    def make_noting(self) -> tuple[Override, ...]:
        """Return the overrides that record the roles."""
        return (
            Override(Partition, "follow", self._noting_follow),
            Override(Partition, "lead", self._noting_lead),
            Override(publish, "store", self._noting_command),
        )

    def _noting_follow(self, original: Original) -> Callable[..., object]:
        def follow(partition: Partition) -> None:
            if partition.leads and partition.log.count:
                self._led.add(partition)
            self._followed.add(partition)
            original(partition)

        return follow

    def _noting_lead(self, original: Original) -> Callable[..., object]:
        def lead(partition: Partition, *, writable: bool, followers: Sequence[Partition]) -> None:
            if not writable:
                self._barred.add(partition)
            original(partition, writable=writable, followers=followers)

        return lead

    def _noting_command(self, original: Original) -> Callable[..., object]:
        def store(
            connection: Connection, partition: Partition, entries: Sequence[NewMessage]
        ) -> object:
            self._command = connection.command
            try:
                return original(connection, partition, entries)
            finally:
                self._command = b""

        return store


def _accept(accepts: Judge) -> tuple[Override, ...]:
    """Return overrides under which publishes that pass a test skip the check of the role."""
    roles = _Roles()

    def check_role(original: Original, partition: Partition) -> None:
        if not accepts(roles.of(partition)):
            original(partition)

    return (*roles.make_noting(), around(publish, "check_role", check_role))


def _refuse(refuses: Judge, code: str) -> tuple[Override, ...]:
    """Return overrides under which publishes that pass a test are refused with a code."""
    roles = _Roles()

    def check_role(original: Original, partition: Partition) -> None:
        if refuses(roles.of(partition)):
            raise Refusal(code, fatal=False)
        original(partition)

    return (*roles.make_noting(), around(publish, "check_role", check_role))


def _passing_on() -> tuple[Override, ...]:
    """Return overrides under which a follower that refuses messages gives them to the leader."""
    leaders: WeakValueDictionary[tuple[str, int], Partition] = WeakValueDictionary()

    def lead(
        original: Original, partition: Partition, *, writable: bool, followers: Sequence[Partition]
    ) -> None:
        leaders[partition.topic.name, partition.number] = partition
        original(partition, writable=writable, followers=followers)

    def store(
        original: Original,
        connection: Connection,
        partition: Partition,
        entries: Sequence[NewMessage],
    ) -> object:
        leader = leaders.get((partition.topic.name, partition.number))
        if leader is not None and leader.leads and not partition.leads:
            leader.publish(entries, connection.now_ns)
        return original(connection, partition, entries)

    return (around(Partition, "lead", lead), around(publish, "store", store))


def _when_writable(original: Original, channel: Channel) -> object:
    return partition_of(channel).writable and original(channel)


def _in_the_first_here(
    original: Original, connection: Connection, to: publish.Address, size: int
) -> object:
    topic = connection.node.topics.get(to.topic)
    if topic is not None and topic.partition(to.partition) is None:
        to = publish.Address(to.topic, next(iter(topic.partitions)))
    return original(connection, to, size)


def _is_new(role: Role) -> bool:
    return role.leads and role.followed


def _is_left_alone(role: Role) -> bool:
    return _is_new(role) and role.alone


def _is_old(role: Role) -> bool:
    return role.led and not role.leads


def _other_command(role: Role) -> bool:
    return role.command != PUB


FAULTS: tuple[Preset, ...] = (
    missing(
        "follower-takes-messages",
        "a follower of a partition accepts messages as if it were the leader",
        breaks=f"{_NOT_LEADER} {_OLD}",
        may_break=MOVED,
        overrides=_accept(lambda role: not role.leads),
    ),
    condition(
        "follower-takes-batches",
        "a follower of a partition refuses PUB but accepts other publish commands",
        breaks=_NOT_LEADER,
        may_break=MOVED,
        overrides=_accept(lambda role: not role.leads and _other_command(role)),
    ),
    wrong_value(
        "follower-says-not-exist",
        "a follower refuses a publish as if the topic did not exist",
        breaks=_NOT_LEADER,
        overrides=_refuse(lambda role: not role.leads, error_codes.E_TOPIC_NOT_EXIST),
    ),
    wrong_value(
        "follower-says-invalid",
        "a follower refuses a publish with E_INVALID",
        breaks=f"{_NOT_LEADER} {_OLD}",
        may_break=f"{_WRITES} {_KEPT} {_GONE} {_IDS}",
        overrides=_refuse(lambda role: not role.leads, error_codes.E_INVALID),
    ),
    missing(
        "stranger-takes-messages",
        "a node that holds no copy of a partition stores messages for it in another partition",
        breaks=_ELSEWHERE,
        may_break=f"{_ABSENT} {_NAMED}",
        overrides=(around(publish, "locate", _in_the_first_here),),
    ),
    wrong_value(
        "stranger-says-bad-topic",
        "a node that holds no copy of a partition refuses a publish as an invalid topic name",
        breaks=_ELSEWHERE,
        may_break=_ABSENT,
        settings={"cluster.absent": error_codes.E_BAD_TOPIC},
    ),
    wrong_value(
        "stranger-says-failed",
        "a node that holds no copy of a partition refuses a publish as a failed publish",
        breaks=_ELSEWHERE,
        may_break=_ABSENT,
        settings={"cluster.absent": error_codes.E_PUB_FAILED},
    ),
    missing(
        "unwritable-takes-messages",
        "a partition that is not writable accepts messages",
        breaks=_NOT_WRITABLE,
        overrides=_accept(lambda role: role.leads),
    ),
    condition(
        "unwritable-takes-batches",
        "a partition that is not writable refuses PUB but accepts other publish commands",
        breaks=_NOT_WRITABLE,
        overrides=_accept(lambda role: role.leads and _other_command(role)),
    ),
    wrong_value(
        "unwritable-says-not-leader",
        "a partition that is not writable refuses a publish with the code of a node that is not "
        "the leader",
        breaks=_NOT_WRITABLE,
        overrides=_refuse(
            lambda role: role.leads and not role.writable, error_codes.E_FAILED_ON_NOT_LEADER
        ),
    ),
    missing(
        "unwritable-for-ever",
        "a partition that was not writable once never accepts messages again",
        breaks=_AGAIN,
        overrides=_refuse(lambda role: role.barred, error_codes.E_FAILED_ON_NOT_WRITABLE),
    ),
    missing(
        "new-leader-unwritable",
        "a node that became leader refuses messages as not writable",
        breaks=_WRITES,
        may_break=MOVED,
        overrides=_refuse(_is_new, error_codes.E_FAILED_ON_NOT_WRITABLE),
    ),
    wrong_value(
        "new-leader-denies",
        "a node that became leader refuses messages as if it were not the leader",
        breaks=_WRITES,
        may_break=MOVED,
        overrides=_refuse(_is_new, error_codes.E_FAILED_ON_NOT_LEADER),
    ),
    condition(
        "new-leader-fails",
        "a node that became leader refuses messages as failed publishes",
        breaks=_WRITES,
        may_break=MOVED,
        overrides=_refuse(_is_new, error_codes.E_PUB_FAILED),
    ),
    missing(
        "survivor-unwritable",
        "a node that became leader because another was lost refuses messages as not writable",
        breaks="smart.cluster.gone-writes",
        may_break=MOVED,
        overrides=_refuse(_is_left_alone, error_codes.E_FAILED_ON_NOT_WRITABLE),
    ),
    extra(
        "follower-refuses-and-passes-on",
        "a follower refuses a publish and passes the message on to the leader all the same",
        breaks="smart.cluster.not-leader-stored",
        may_break=f"{MOVED} smart.partition.stored-once",
        overrides=_passing_on(),
    ),
    missing(
        "unwritable-delivers-nothing",
        "a partition that is not writable delivers no message",
        breaks="smart.cluster.unwritable-read",
        may_break=f"{MOVED} {_AGAIN}",
        overrides=(NOTED, around(Channel, "may_send", _when_writable)),
    ),
    extra(
        "old-leader-goes-on",
        "a node that is no longer leader keeps accepting messages",
        breaks=_OLD,
        may_break=MOVED,
        overrides=_accept(_is_old),
    ),
    wrong_value(
        "old-leader-says-unwritable",
        "a node that is no longer leader refuses messages as not writable",
        breaks=_OLD,
        overrides=_refuse(_is_old, error_codes.E_FAILED_ON_NOT_WRITABLE),
    ),
)
