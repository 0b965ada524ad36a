"""Faults of a cluster: which node accepts messages, and what other nodes answer."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple
from weakref import WeakSet, WeakValueDictionary

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.nsq.core.channel import Channel
from wireproof_reference_impl.nsq.core.commands import publish
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.core.topic import Partition
from wireproof_reference_impl.nsq.faulty.neighbours import NOTED, partition_of
from wireproof_reference_impl.nsq.faulty.ways import condition, extra, missing, wrong_value
from wireproof_reference_impl.nsq.wire.message import NewMessage
from wireproof_reference_impl.nsq.wire.refusal import Refusal
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_spec.nsq import error_codes
from wireproof_spec.nsq.names import PUB


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


def _is_new(role: Role) -> bool:
    return role.leads and role.followed


def _is_old(role: Role) -> bool:
    return role.led and not role.leads


def _other_command(role: Role) -> bool:
    return role.command != PUB


@missing("smart.cluster.not-leader smart.cluster.moved-old", _accept)
def follower_takes_messages(role: Role) -> bool:
    """A follower of a partition accepts messages as if it were the leader."""
    return not role.leads


@condition("smart.cluster.not-leader", _accept)
def follower_takes_batches(role: Role) -> bool:
    """A follower of a partition refuses PUB but accepts other publish commands."""
    return not role.leads and _other_command(role)


@wrong_value("smart.cluster.not-leader", partial(_refuse, code=error_codes.E_TOPIC_NOT_EXIST))
def follower_says_not_exist(role: Role) -> bool:
    """A follower refuses a publish as if the topic did not exist."""
    return not role.leads


@wrong_value(
    "smart.cluster.not-leader smart.cluster.moved-old",
    partial(_refuse, code=error_codes.E_INVALID),
)
def follower_says_invalid(role: Role) -> bool:
    """A follower refuses a publish with E_INVALID."""
    return not role.leads


@missing("smart.cluster.elsewhere", around(publish, "locate"))
def stranger_takes_messages(
    original: Original, connection: Connection, to: publish.Address, size: int
) -> object:
    """A node that holds no copy of a partition stores messages for it in another partition."""
    topic = connection.node.topics.get(to.topic)
    if topic is not None and topic.partition(to.partition) is None:
        to = publish.Address(to.topic, next(iter(topic.partitions)))
    return original(connection, to, size)


@wrong_value("smart.cluster.elsewhere")
def stranger_says_bad_topic() -> Change:
    """A node that holds no copy of a partition refuses a publish as an invalid topic name."""
    return {"cluster.absent": error_codes.E_BAD_TOPIC}


@wrong_value("smart.cluster.elsewhere")
def stranger_says_failed() -> Change:
    """A node that holds no copy of a partition refuses a publish as a failed publish."""
    return {"cluster.absent": error_codes.E_PUB_FAILED}


@missing("smart.cluster.not-writable", _accept)
def unwritable_takes_messages(role: Role) -> bool:
    """A partition that is not writable accepts messages."""
    return role.leads


@condition("smart.cluster.not-writable", _accept)
def unwritable_takes_batches(role: Role) -> bool:
    """A partition that is not writable refuses PUB but accepts other publish commands."""
    return role.leads and _other_command(role)


@wrong_value(
    "smart.cluster.not-writable", partial(_refuse, code=error_codes.E_FAILED_ON_NOT_LEADER)
)
def unwritable_says_not_leader(role: Role) -> bool:
    """A partition that is not writable refuses a publish with the code of a node that is not
    the leader.
    """
    return role.leads and not role.writable


@missing(
    "smart.cluster.writable-again", partial(_refuse, code=error_codes.E_FAILED_ON_NOT_WRITABLE)
)
def unwritable_for_ever(role: Role) -> bool:
    """A partition that was not writable once never accepts messages again."""
    return role.barred


@missing("smart.cluster.moved-writes")
def new_leader_unwritable() -> Change:
    """A node that became leader refuses messages as not writable."""
    return _refuse(_is_new, error_codes.E_FAILED_ON_NOT_WRITABLE)


@wrong_value("smart.cluster.moved-writes")
def new_leader_denies() -> Change:
    """A node that became leader refuses messages as if it were not the leader."""
    return _refuse(_is_new, error_codes.E_FAILED_ON_NOT_LEADER)


@condition("smart.cluster.moved-writes")
def new_leader_fails() -> Change:
    """A node that became leader refuses messages as failed publishes."""
    return _refuse(_is_new, error_codes.E_PUB_FAILED)


@missing("smart.cluster.gone-writes", partial(_refuse, code=error_codes.E_FAILED_ON_NOT_WRITABLE))
def survivor_unwritable(role: Role) -> bool:
    """A node that became leader because another was lost refuses messages as not writable."""
    return _is_new(role) and role.alone


@extra("smart.cluster.not-leader-stored")
def follower_refuses_and_passes_on() -> Change:
    """A follower refuses a publish and passes the message on to the leader all the same."""
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


@missing("smart.cluster.unwritable-read", around(Channel, "may_send"), also=(NOTED,))
def unwritable_delivers_nothing(original: Original, channel: Channel) -> object:
    """A partition that is not writable delivers no message."""
    return partition_of(channel).writable and original(channel)


@extra("smart.cluster.moved-old")
def old_leader_goes_on() -> Change:
    """A node that is no longer leader keeps accepting messages."""
    return _accept(_is_old)


@wrong_value("smart.cluster.moved-old")
def old_leader_says_unwritable() -> Change:
    """A node that is no longer leader refuses messages as not writable."""
    return _refuse(_is_old, error_codes.E_FAILED_ON_NOT_WRITABLE)


FAULTS = list_faults(__name__)
