"""The behaviour table: what the texts leave to a server, with the reference's choice as default.

Variants are other values of it. What only a fault does is an override of the core (`faulty/`).
"""

from msgspec import Struct, field


class Behaviour(Struct, frozen=True):
    """All choices of the OpenMessaging server that variants and faults may change.

    `expires_from_birth`: expireTime is a duration, not a time (reading `oms-expire-base`).
    `expires_in_gap`: an expireTime from birth to the due time discards the message; otherwise such
    a message never expires (reading `oms-expire-gap`). `redelivers_expired`: a message that was
    delivered before its expireTime is delivered again after it. `return_within_ms`: a message that
    is neither acknowledged nor rejected for so long is delivered again.
    """

    first_partition: int = 0
    count_base: int = 1
    expires_from_birth: bool = False
    expires_in_gap: bool = False
    redelivers_expired: bool = True
    takes_negative_delay: bool = True
    stores_again_when_due: bool = False
    orders_by_priority: bool = True
    tells_default_priority: bool = True
    tells_priority_as_sent: bool = False
    new_groups_get_all: bool = True
    redelivery_delay_ms: int = 0
    return_within_ms: int = 600_000
    message_id_prefix: str = ""
    further_attributes: dict[str, str] = field(default_factory=dict[str, str])
