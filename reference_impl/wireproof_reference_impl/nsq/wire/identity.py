"""The client's settings from IDENTIFY."""

from msgspec import Struct

from wireproof_spec.nsq import limits

MILLISECOND = 1_000_000


class ExtFilter(Struct, frozen=True):
    """A client's filter in IDENTIFY: which messages it wants by a header field; kind 0: all."""

    kind: int = 0
    key: str = ""
    data: str = ""
    data_list: tuple[str, ...] = ()
    inverse: bool = False


class Identity(Struct, frozen=True):
    """The fields of IDENTIFY that the broker uses; a heartbeat of None means no heartbeats."""

    heartbeat_ms: int | None = limits.HEARTBEAT_INTERVAL_MS
    message_timeout_ms: int = limits.MSG_TIMEOUT_MS
    sample_rate: int = 0
    output_buffer_size: int = limits.OUTPUT_BUFFER_SIZE
    output_buffer_timeout_ms: int = limits.OUTPUT_BUFFER_TIMEOUT_MS
    desired_tag: str = ""
    extend_support: bool = False
    feature_negotiation: bool = False
    user_agent: str = ""
    client_id: str = ""
    hostname: str = ""
    ext_filter: ExtFilter | None = None
