"""Documents for tests of OpenMessaging: a right one, ways to make it wrong, ways to vary it."""

import copy
import json
from typing import Any

BORN = 1533780827824

ALL_ATTRIBUTES: dict[str, object] = {
    "storeTimestamp": BORN + 1,
    "storeHost": "172.24.0.102:52511",
    "correlationId": "7F00000100002873000000000004F2B4",
    "messageKey": "orders",
    "delayTime": 30000,
    "expireTime": BORN + 60000,
    "traceId": "1E0578887D3F18B4AAC22B64D2B00A5E",
    "transactionId": "1E0578887D3F18B4AAC22B64D2B40A62",
    "deliveryCount": 1,
    "priority": 1,
    "partition": 1,
}

MESSAGE: dict[str, object] = {
    "message": {
        "version": "1.0.0",
        "header": {
            "messageId": "7F00000100002873000000000004F49C",
            "destination": "orderQueue",
            "bornTimestamp": BORN,
            "bornHost": "172.24.0.101:10035",
            "compression": "gzip",
            "qos": 1,
        },
        "extensionHeader": ALL_ATTRIBUTES,
        "properties": {"service": "helloService", "retries": 3, "share": 0.5},
        "data": "aGVsbG8=",
    }
}

HEADER = "message/header/"
EXT = "message/extensionHeader/"


def changed(path: str, value: object) -> dict[str, object]:
    """Return the right message with one value put in place, added or replaced."""
    whole = copy.deepcopy(MESSAGE)
    holder, name = _holder(whole, path)
    holder[name] = value
    return whole


def without(path: str) -> dict[str, object]:
    """Return the right message without one of its names."""
    whole = copy.deepcopy(MESSAGE)
    holder, name = _holder(whole, path)
    del holder[name]
    return whole


def ext(**attributes: object) -> dict[str, object]:
    """Return the right message with these attributes in place of its own."""
    return changed("message/extensionHeader", attributes)


def text(value: object) -> bytes:
    """Return the usual text of a document."""
    return json.dumps(value).encode()


def raw(path: str, literal: str) -> bytes:
    """Return the right message with a literal, to the letter, in one place."""
    return text(changed(path, "@")).replace(b'"@"', literal.encode("utf-8", "surrogateescape"))


def again(path: str, literal: str) -> bytes:
    """Return the right message with a name that stands there once more, to the letter."""
    holder, name = path.rpartition("/")[::2]
    marked = text(changed(f"{holder}/@", 0))
    return marked.replace(b'"@": 0', literal.encode()) if name else marked


def _holder(whole: dict[str, object], path: str) -> tuple[dict[str, Any], str]:
    *above, name = path.split("/")
    holder: dict[str, Any] = whole
    for step in above:
        holder = holder[step]
    return holder, name
