"""Every schema of NSQ and Iggy that there is, found by looking and not by listing."""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from itertools import product
from types import ModuleType
from typing import Any, get_args

from wireproof_spec import iggy, nsq
from wireproof_spec.decoding import Schema
from wireproof_spec.nsq.disk import RecordKind, disk_record_schema
from wireproof_spec.nsq.message import message_schema

BOTH = (False, True)
KINDS: tuple[RecordKind, ...] = get_args(RecordKind)


def every_schema() -> Mapping[str, Schema[Any]]:
    """Return each schema once, by a name that no other has."""
    found = dict(_named(nsq)) | dict(_named(iggy))
    for extend, ordered, always in product(BOTH, BOTH, BOTH):
        name = f"nsq.message_schema({extend:d}{ordered:d}{always:d})"
        found[name] = message_schema(extend=extend, ordered=ordered, length_always=always)
    for kind, always in product(KINDS, BOTH):
        found[f"nsq.disk_record_schema({kind}{always:d})"] = disk_record_schema(
            kind, length_always=always
        )
    once = {id(schema): (name, schema) for name, schema in found.items()}
    return dict(once.values())


def _named(grammar: ModuleType) -> Iterator[tuple[str, Schema[Any]]]:
    for module in pkgutil.walk_packages(grammar.__path__, f"{grammar.__name__}."):
        place = module.name.removeprefix("wireproof_spec.")
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, Schema):
                yield f"{place}.{name}", value
            elif isinstance(value, dict):
                found = (each for each in value.values() if isinstance(each, Schema))
                yield from ((f"{place}.{name}[{each.name}]", each) for each in found)
