"""What the user of a client can configure."""

from msgspec import Struct

from wireproof_spec.iggy.bodies.identifier import Identifier
from wireproof_spec.iggy.generation import Generation


class Settings(Struct, frozen=True):
    """The settings of one example Iggy client: server, topic, partition, consumer and login."""

    address: tuple[str, int]
    """Host and port of the transport."""
    over_http: bool
    stream: Identifier
    topic: Identifier
    partition: int = 1
    consumer: int = 1
    generation: Generation = "published"
    user: str = "iggy"
    password: str = "iggy"
    """Only servers of the tagged generation ask who is there."""
    timeout_s: float = 3.0
    """How long an answer may take, from the connection on."""
