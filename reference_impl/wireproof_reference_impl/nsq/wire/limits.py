"""The size limits of one node."""

from msgspec import Struct

from wireproof_spec.nsq.limits import (
    MAX_BODY_SIZE,
    MAX_BYTES_PER_FILE,
    MAX_MSG_SIZE,
)


class Limits(Struct, frozen=True):
    """The broker's limits that the operator may set: sizes in bytes, number of connections."""

    message: int = MAX_MSG_SIZE
    body: int = MAX_BODY_SIZE
    file: int = MAX_BYTES_PER_FILE
    connections: int = 10_000
