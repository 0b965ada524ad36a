"""What the core wants done. The shell does it, and knows nothing of the protocol."""

from typing import TypeAlias

from msgspec import Struct

from wireproof_reference_impl.nsq.client.core.message import Message

Address: TypeAlias = tuple[str, int]
"""Host and port."""


class Connect(Struct, frozen=True):
    """Open a TCP connection; `connected` or `lost` answers."""

    connection: int
    address: Address
    within_s: float


class Write(Struct, frozen=True):
    """Send bytes on a connection."""

    connection: int
    data: bytes


class Disconnect(Struct, frozen=True):
    """Close a connection once all is sent; nothing answers."""

    connection: int


class Fetch(Struct, frozen=True):
    """Send GET to an HTTP server; `fetched` answers."""

    request: int
    address: Address
    target: str
    accept: str
    within_s: float


class Receipt(Struct, frozen=True):
    """What a node answered to a publish; all but the partition only if the publish was traced."""

    partition: int | None
    internal_id: int | None = None
    trace_id: int | None = None
    disk_queue_offset: int | None = None
    disk_queue_data_size: int | None = None


class Failure(Struct, frozen=True):
    """Why an operation failed; `code` is a node's error code, if a node refused it."""

    text: str
    code: str = ""


class Settle(Struct, frozen=True):
    """Tell the user the outcome of a publish."""

    ticket: int
    outcome: Receipt | Failure


class Hand(Struct, frozen=True):
    """Give a message to the handler of a consumer, which settles it by its ticket.

    Not by its id: a node may number the messages of each partition from 1.
    """

    consumer: int
    ticket: int
    message: Message


class Report(Struct, frozen=True):
    """Tell the user of a consumer of an error."""

    consumer: int
    failure: Failure


class Log(Struct, frozen=True):
    """Write a line to the log."""

    text: str


class Closed(Struct, frozen=True):
    """Tell the user that the client has ended: nothing is open any more."""


Effect: TypeAlias = Connect | Write | Disconnect | Fetch | Settle | Hand | Report | Log | Closed


class Fetched(Struct, frozen=True):
    """The answer to a Fetch."""

    status: int
    body: bytes
