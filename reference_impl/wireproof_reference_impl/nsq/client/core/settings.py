"""What the user of a client can configure, with the defaults of the client guide."""

from msgspec import Struct

from wireproof_spec.nsq.limits import HEARTBEAT_INTERVAL_MS


class Settings(Struct, frozen=True):
    """The settings of one example client; they apply to all its topics."""

    lookupd: tuple[str, ...]
    """HOST:PORT of the configured lookup servers."""
    lookup_interval_s: float = 60.0
    lookup_jitter: float = 0.1
    """By how much of itself the interval varies, so that many clients do not ask at once."""
    lookup_timeout_s: float = 2.0
    lookup_retry_s: float = 0.25
    """Delay after a round in which no node was found; it doubles up to the interval."""
    lookup_gap_s: float = 0.1
    """The least time between the beginnings of two rounds, however often one is asked for."""
    lookup_failures: int = 2
    """A lookup server that has failed more often in succession is asked less often."""
    connect_timeout_s: float = 2.0
    identify_timeout_s: float = 5.0
    reconnect_s: float = 0.1
    """Delay before a connection is opened again; it doubles with each failure."""
    reconnect_most_s: float = 15.0
    publish_timeout_s: float = 2.0
    publish_attempts: int = 4
    publish_retry_s: float = 0.05
    """Delay before a publish is repeated; it doubles with each attempt."""
    heartbeat_interval_ms: int = HEARTBEAT_INTERVAL_MS
    drain_s: float = 1.0
    """How long a subscription that ends waits for CLOSE_WAIT and for its handlers."""


class Subscribing(Struct, frozen=True):
    """The user's settings for one consumer; names that end in `_s` are seconds."""

    topic: str
    channel: str
    ordered: bool = False
    trace: bool = False
    """Write the trace log."""
    tag: str = ""
    max_in_flight: int = 20
    msg_timeout_ms: int = 0
    """0: what the node has configured."""
    max_attempts: int = 0
    """Messages attempted more often are finished unseen, but never in order; 0: no limit."""
    logged_attempts: int = 10
    """In order, messages attempted more often are logged."""
    requeue_s: float = 1.0
    """Delay of REQ for each attempt so far."""
    requeue_most_s: float = 900.0
    backoff_s: float = 0.1
    """How long a failed handler stops delivery; it doubles with each failure in succession."""
    backoff_most: int = 6
    """The greatest number of doublings."""
