"""Records whose every text is a payload, generated from the records' own schema."""

from collections.abc import Iterator, Mapping
from typing import cast

from msgspec import inspect

from wireproof_spec.record import BundleRecord

Json = dict[str, object]

PAYLOAD = (
    "Q<wpx onx=1>&\"'</td></script>]]>-->`|*Q*[Q](javascript:Q)\x1b[31m\x9b0m\u202eQ\u2066\ufeff"
    "\r\n# ZZ\n- ZZ\t\x00\x85\u2028=cmd|'/c Q'!A1"
)
SIGNS = "\x1b\x9b\u202e\u2066\ufeff\x00\x85\u2028"
"""What must stand nowhere: controls, and what turns the direction of writing round."""
FITTING: Mapping[str, object] = {
    "hex": "00",
    "deflate": "",
    "length": 1,
    "format": 1,
    "protocol": "nsq",
    "sha256": "",
    "expires": "2999-01-01",
    "parts": [],
    "evidence": [0],
    "at_us": 1,
    "role": "",
    "manner": "whole",
}
"""Fields that a reader refuses with any other text, so that no writer gets it."""


def dense() -> dict[str, Json]:
    """Return one record of each kind with every field set, and every free text a payload."""
    records = (inspect.type_info(kind) for kind in cast(tuple[type, ...], BundleRecord.__args__))
    made = (cast(Json, _value(record)) for record in records)
    return {str(record["kind"]): record for record in made}


def list_texts(value: object, path: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    """Yield the path of every payload in a value, keys of objects included."""
    if value == PAYLOAD:
        yield path
    elif isinstance(value, dict):
        for key, each in cast(Json, value).items():
            if key == PAYLOAD:
                yield (*path, key)
            yield from list_texts(each, (*path, key))
    elif isinstance(value, list):
        for place, each in enumerate(cast(list[object], value)):
            yield from list_texts(each, (*path, place))


def _value(info: inspect.Type, name: str = "") -> object:
    if name in FITTING:
        return FITTING[name]
    if isinstance(info, inspect.StructType):
        fields = {each.encode_name: _value(each.type, each.encode_name) for each in info.fields}
        return {**({info.tag_field: info.tag} if info.tag_field else {}), **fields}
    if isinstance(info, inspect.UnionType):
        return _value(next(each for each in info.types if not isinstance(each, inspect.NoneType)))
    if isinstance(info, inspect.DictType):
        return {str(_value(info.key_type)): _value(info.value_type)}
    if isinstance(info, inspect.TupleType):
        return [_value(each) for each in info.item_types]
    if isinstance(info, inspect.VarTupleType):
        return [_value(info.item_type)]
    return _leaf(info)


def _leaf(info: inspect.Type) -> object:
    if isinstance(info, inspect.LiteralType):
        return info.values[0]
    if isinstance(info, inspect.StrType):
        return PAYLOAD
    if isinstance(info, inspect.BoolType):
        return True
    return 1
