"""Variants: what the texts leave to the server, chosen otherwise."""

from wireproof_reference_impl.preset import Preset, alternative, variant

VARIANTS: tuple[Preset, ...] = (
    variant(
        "expires-from-birth",
        "an expireTime is a duration that begins when the message is born",
        {"expires_from_birth": True},
    ),
    variant(
        "expires-in-gap",
        "an expireTime from birth to the due time discards the message",
        {"expires_in_gap": True},
    ),
    variant(
        "counts-from-0",
        "the first delivery has the deliveryCount 0",
        {"count_base": 0},
    ),
    variant(
        "partitions-from-1",
        "partitions are numbered from 1",
        {"first_partition": 1},
    ),
    variant(
        "priority-as-sent",
        "consumers are told the priority that the sender set, also outside 1 to 10",
        {"tells_priority_as_sent": True},
    ),
    variant(
        "priority-unset-untold",
        "consumers of a message without priority are told none",
        {"tells_default_priority": False},
    ),
    variant(
        "negative-delay-refused",
        "a message with a negative delayTime is refused",
        {"takes_negative_delay": False},
    ),
    variant(
        "stored-again-when-due",
        "the storeTimestamp of a delayed message is its due time",
        {"stores_again_when_due": True},
    ),
    variant(
        "redelivered-after-half-a-second",
        "a rejected message is delivered again half a second later",
        {"redelivery_delay_ms": 500},
    ),
    variant(
        "groups-begin-empty",
        "a new group of consumers gets only what arrives after its first receive",
        {"new_groups_get_all": False},
    ),
    variant(
        "message-ids-with-prefix",
        "message ids have a prefix with characters other than letters and digits",
        {"message_id_prefix": "ID:node-7/"},
    ),
    variant(
        "further-attributes",
        "the extension header of a delivered message has attributes that the text does not name",
        {"further_attributes": {"x-region": "north", "x-broker": "b-1"}},
    ),
    alternative(
        "expired-not-redelivered",
        "a message delivered before its expireTime is not delivered again after it",
        {"redelivers_expired": False},
    ),
    alternative(
        "no-order-by-priority",
        "messages are delivered as they arrived, whatever their priority",
        {"orders_by_priority": False},
    ),
)
