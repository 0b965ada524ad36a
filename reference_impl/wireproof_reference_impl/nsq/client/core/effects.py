"""What the core wants done. The shell does it, and knows nothing of the protocol."""

from typing import TypeAlias

from msgspec import Struct

from wireproof_reference_impl.nsq.client.core.message import Message

Address: TypeAlias = tuple[str, int]
"""Host and port."""


class Connect(Struct, frozen=True):
    """Effect for the shell: open a TCP connection; answered by `connected` or `lost`."""

    connection: int
    address: Address
    within_s: float


class Write(Struct, frozen=True):
    """Effect for the shell: send bytes on a connection."""

    connection: int
    data: bytes


class Disconnect(Struct, frozen=True):
    """Effect for the shell: close a connection once everything is sent; not answered."""

    connection: int


class Fetch(Struct, frozen=True):
    """Effect for the shell: send GET to an HTTP server; answered by `fetched`."""

    request: int
    address: Address
    target: str
    accept: str
    within_s: float


class Receipt(Struct, frozen=True):
    """The outcome of a successful publish, as the node answered it.

    All but the partition is None unless the publish was traced.
    """

    partition: int | None
    internal_id: int | None = None
    trace_id: int | None = None
    disk_queue_offset: int | None = None
    disk_queue_data_size: int | None = None


class Failure(Struct, frozen=True):
    """The outcome of a failed operation: a text, and the error code if a node refused it."""

    text: str
    code: str = ""


class Settle(Struct, frozen=True):
    """Effect for the shell: report the outcome of a publish to the user."""

    ticket: int
    outcome: Receipt | Failure


class Hand(Struct, frozen=True):
    """Effect for the shell: give a message to a handler, which settles the message by its ticket.

    Not by its id: a node may number the messages of each partition from 1.
    """

    consumer: int
    ticket: int
    message: Message


class Report(Struct, frozen=True):
    """Effect for the shell: report an error to the user of a consumer."""

    consumer: int
    failure: Failure


class Log(Struct, frozen=True):
    """Effect for the shell: write a line to the log."""

    text: str


class Closed(Struct, frozen=True):
    """Effect for the shell: tell the user that the client has ended and nothing is open."""


Effect: TypeAlias = Connect | Write | Disconnect | Fetch | Settle | Hand | Report | Log | Closed


class Fetched(Struct, frozen=True):
    """The HTTP answer to a Fetch effect."""

    status: int
    body: bytes
