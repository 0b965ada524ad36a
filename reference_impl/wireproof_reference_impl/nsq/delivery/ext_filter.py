"""The filter that a client sets for messages by a header field (`ext_filter` of IDENTIFY)."""

import json
import re
from collections.abc import Callable
from fnmatch import translate

from wireproof_reference_impl.nsq.wire.identity import ExtFilter
from wireproof_reference_impl.nsq.wire.message import Message
from wireproof_spec.strict_json import members_of

EXACT = 1
REGEXP = 2
GLOB = 3
LIST = 4


def make_filter(ext_filter: ExtFilter | None) -> Callable[[Message], bool] | None:
    """Return the test of a client's filter on message headers; None if all messages pass."""
    if ext_filter is None:
        return None
    matches = _matcher(ext_filter)
    if matches is None:
        return None

    def takes(message: Message) -> bool:
        value = _value(message.header, ext_filter.key)
        return value is not None and matches(value) != ext_filter.inverse

    return takes


def _matcher(ext_filter: ExtFilter) -> Callable[[str], bool] | None:
    if ext_filter.kind == EXACT:
        return lambda value: value == ext_filter.data
    if ext_filter.kind == LIST:
        return lambda value: value in ext_filter.data_list
    if ext_filter.kind not in (REGEXP, GLOB):
        return None
    text = ext_filter.data if ext_filter.kind == REGEXP else translate(ext_filter.data)
    try:
        pattern = re.compile(text)
    except re.error:
        return None
    return lambda value: pattern.search(value) is not None


def _value(header: bytes | None, key: str) -> str | None:
    if header is None:
        return None
    try:
        fields = json.loads(header)
    except ValueError:
        return None
    value = members_of(fields).get(key)
    return value if isinstance(value, str) else None
