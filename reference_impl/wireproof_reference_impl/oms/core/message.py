"""A stored message: what its sender gave, and what the server adds."""

from msgspec import Struct

from wireproof_reference_impl.oms.core.sent import Sent


class Message(Struct, frozen=True):
    """A message as the broker stores it; times are in milliseconds since 1970.

    `partition` counts from 0. `priority` is the effective one; `sent` has what the sender set.
    `discarded` is when the message is destroyed if it is undelivered by then, None if never.
    """

    id: str
    sent: Sent
    data: bytes | None
    partition: int
    priority: int
    born: int
    born_host: str
    stored: int
    store_host: str
    due: int
    discarded: int | None
    transaction_id: str | None = None
