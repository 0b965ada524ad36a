"""The JSON of IDENTIFY, read exactly as leniently as the measured broker reads it."""

import json
from collections.abc import Mapping

from wireproof_reference_impl.nsq.wire.identity import ExtFilter
from wireproof_spec.nsq.names import DESIRED_TAG, EXTEND_SUPPORT
from wireproof_spec.strict_json import is_object, items_of

Fields = Mapping[str, object]

_TYPES: dict[str, type] = {
    "heartbeat_interval": int,
    "output_buffer_size": int,
    "output_buffer_timeout": int,
    "sample_rate": int,
    "msg_timeout": int,
    "deflate_level": int,
    "feature_negotiation": bool,
    "tls_v1": bool,
    "deflate": bool,
    "snappy": bool,
    EXTEND_SUPPORT: bool,
    DESIRED_TAG: str,
    "client_id": str,
    "hostname": str,
    "short_id": str,
    "long_id": str,
    "user_agent": str,
}


class BadIdentify(ValueError):
    """Raised for an invalid body of IDENTIFY."""


class IdentifyFields:
    """The fields given in IDENTIFY that the broker knows, each with a value of its type."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields

    def number(self, name: str, default: int = 0) -> int:
        """Return an integer field of IDENTIFY, or the default."""
        value = self._fields.get(name, default)
        return value if isinstance(value, int) else default

    def text(self, name: str) -> str:
        """Return a text field of IDENTIFY; empty if it is missing."""
        value = self._fields.get(name, "")
        return value if isinstance(value, str) else ""

    def flag(self, name: str) -> bool:
        """Return a truth value of IDENTIFY; False if it is missing."""
        return self._fields.get(name) is True

    def ext_filter(self) -> ExtFilter | None:
        """Return the filter in IDENTIFY, or None; a filter with invalid values filters nothing."""
        value = self._fields.get("ext_filter")
        if not is_object(value):
            return None
        return ExtFilter(
            kind=_number(value.get("type")),
            key=str(value.get("filter_ext_key", "")),
            data=str(value.get("filter_data", "")),
            data_list=tuple(map(str, items_of(value.get("filter_data_list")))),
            inverse=value.get("inverse") is True,
        )


def read(data: bytes) -> IdentifyFields:
    """Return the fields of an IDENTIFY body.

    Names match in any letter case, unknown names are ignored, null counts as an empty object.

    Raises:
        BadIdentify: not a JSON object, or a known field of another type.
    """
    try:
        value: object = _DECODER.decode(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise BadIdentify(str(error)) from error
    if value is None:
        value = {}
    if not is_object(value):
        raise BadIdentify("not an object")
    fields: dict[str, object] = {}
    for given, each in value.items():
        name = given.lower()
        _check(name, each)
        if each is not None:
            fields[name] = each
    return IdentifyFields(fields)


def _check(name: str, value: object) -> None:
    wanted = _TYPES.get(name)
    if wanted is None or value is None:
        return
    if type(value) is not wanted:
        raise BadIdentify(f"{name} is not of type {wanted.__name__}")


def _number(value: object) -> int:
    return value if type(value) is int else 0


def _refuse_constant(text: str) -> None:
    raise BadIdentify(f"{text} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
