"""Which partition a message is stored in. Inside the broker partitions count from 0."""

from zlib import crc32

from wireproof_reference_impl.oms.core.refusal import BAD_PARAMETER, Refusal
from wireproof_reference_impl.oms.core.sent import Sent
from wireproof_spec.oms import names


def choose_partition(sent: Sent, *, count: int, first: int, turn: int) -> int:
    """Return the partition, from 0, for a message in a destination with `count` partitions.

    The sender's choice comes first, then the message key, so that one group of messages stays
    together; all others are spread by turns. `first` is the number that senders give the first
    partition.

    Raises:
        Refusal: the sender's partition does not exist.
    """
    wanted, key = sent.number(names.PARTITION), sent.text(names.MESSAGE_KEY)
    if wanted is not None:
        return existing_partition(wanted, count=count, first=first)
    if key is not None:
        return partition_of_key(key, count)
    return turn % count


def existing_partition(wanted: int, *, count: int, first: int) -> int:
    """Return the partition, from 0, that a sender chose by its number.

    Raises:
        Refusal: it does not exist.
    """
    if not first <= wanted < first + count:
        last = first + count - 1
        reason = f"expected a partition from {first} to {last}, found {wanted}"
        raise Refusal(BAD_PARAMETER, reason)
    return wanted - first


def partition_of_key(key: str, count: int) -> int:
    """Return the partition, from 0, for the messages of a message key."""
    return crc32(key.encode()) % count
