"""Generations and dialects: what they change in the behaviour table."""

from collections.abc import Mapping

from wireproof_reference_impl.iggy import defaults
from wireproof_reference_impl.iggy.behaviour import Behaviour
from wireproof_reference_impl.iggy.options import APACHE, DEPLOYED, PUBLISHED, TAGGED
from wireproof_reference_impl.iggy.streams import partitioning, strategy
from wireproof_reference_impl.iggy.wire import framing, message_json, polled
from wireproof_reference_impl.iggy.wire.checks import SendLimits
from wireproof_reference_impl.settings import Settings, change_settings
from wireproof_spec.iggy.limits import TAGGED_MAX_HEADER_VALUES_SIZE, TAGGED_MAX_PAYLOADS_SIZE

TAGGED_SETTINGS: Settings = {
    "framing.generation": TAGGED,
    "framing.unreadable": framing.answer_refusal,
    "store.choose": partitioning.tagged_partition,
    "store.limits": SendLimits(TAGGED_MAX_PAYLOADS_SIZE, TAGGED_MAX_HEADER_VALUES_SIZE),
    "store.name": defaults.same_text,
    "message.head": polled.partition_offset_count_head,
    "json.polled": polled.polled_object,
    "json.stored_offset": polled.three_offsets,
}
"""What the tagged generation does where it parts from the published one."""

APACHE_SETTINGS: Settings = {"framing.generation": APACHE}
"""The server of generation `apache` is another one, in `wireproof_reference_impl.iggy.apache`."""

DEPLOYED_MOST_BODY_BYTES = 2 * 1024 * 1024
"""The default of the measured server's HTTP library."""

DEPLOYED_SETTINGS: Settings = {
    "poll.starts": {**strategy.STARTS, **strategy.DEPLOYED_STARTS},
    "http.sent": message_json.skip_checks,
    "http.most_body_bytes": DEPLOYED_MOST_BODY_BYTES,
}
"""What the measured server does where it parts from a sane reading of the published text."""

_GENERATIONS: Mapping[str, Settings] = {
    PUBLISHED: {},
    TAGGED: TAGGED_SETTINGS,
    APACHE: APACHE_SETTINGS,
}
_DIALECTS: Mapping[str, Settings] = {PUBLISHED: {}, DEPLOYED: DEPLOYED_SETTINGS}


def of_dialect(generation: str, dialect: str) -> Behaviour:
    """Return the Iggy server's behaviour in a generation and a dialect, without any fault."""
    return change_settings(
        change_settings(Behaviour(), _GENERATIONS[generation]), _DIALECTS[dialect]
    )
