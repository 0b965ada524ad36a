"""What the user of a client can configure."""

from collections.abc import Callable

from msgspec import Struct

from wireproof_spec.iggy.bodies.identifier import Identifier
from wireproof_spec.iggy.generation import ServedGeneration


class Settings(Struct, frozen=True):
    """The settings of one example Iggy client: server, topic, partition, consumer and login."""

    address: tuple[str, int]
    """Host and port of the transport."""
    over_http: bool
    stream: Identifier
    topic: Identifier
    partition: int = 1
    consumer: int = 1
    generation: ServedGeneration = "published"
    user: str = "iggy"
    password: str = "iggy"
    """Servers of the published generation do not ask who is there."""
    timeout_s: float = 3.0
    """How long an answer may take, from the connection on."""
    new_id: Callable[[], int] = lambda: 1
    """Makes ids of clients and messages of generation apache."""
    now_us: Callable[[], int] = lambda: 0
    """The clock, in microseconds since 1970."""
