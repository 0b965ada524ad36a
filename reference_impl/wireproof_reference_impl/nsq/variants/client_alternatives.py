"""Permitted alternatives of the example client, where no text says what it makes of an answer."""

from collections.abc import Callable

from wireproof_reference_impl.nsq.client.core import lookups, message, partitioning, retry
from wireproof_reference_impl.nsq.client.core.retry import Verdict
from wireproof_reference_impl.nsq.client.core.topology import BadAnswer
from wireproof_reference_impl.overrides import Original, around
from wireproof_reference_impl.preset import alternative
from wireproof_spec.nsq.error_codes import E_TOPIC_NOT_EXIST


def _read_no_list(original: Original, body: bytes) -> object:
    raise BadAnswer("no form that this client knows")


def _offset_first(original: Original, *, extend: bool, ordered: bool) -> object:
    return original(extend=extend, ordered=ordered, offset_first=extend and ordered)


def _final_where_unknown(original: Callable[..., Verdict], code: str) -> Verdict:
    return Verdict.FAIL if code == E_TOPIC_NOT_EXIST else original(code)


def _first_partition(original: Original, key: bytes, partition_num: int) -> int:
    return 0


VARIANTS = (
    alternative(
        "client-lists-in-no-form",
        "A client does not know the form of the answer to listlookup, and goes on without it.",
        overrides=(around(lookups, "read_listlookup", _read_no_list),),
    ),
    alternative(
        "client-offset-first",
        "A consumer in order of an ext topic reads offset and size before the ext part.",
        overrides=(around(message, "message_schema", _offset_first),),
        not_with="client-header-length-always",
    ),
    alternative(
        "client-unknown-topic-final",
        "A producer repeats no publish that was refused with E_TOPIC_NOT_EXIST.",
        overrides=(around(retry, "judge", _final_where_unknown),),
    ),
    alternative(
        "client-keys-to-first-partition",
        "A producer sends all messages in order to the first partition.",
        overrides=(around(partitioning, "shard", _first_partition),),
        not_with="client-key-by-sum",
        lacks="client-spread",
    ),
)
