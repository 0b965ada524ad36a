"""Typed settings of single choices, so that lambdas in faults and variants are type-checked."""

from collections.abc import Callable, Mapping

from wireproof_reference_impl.iggy.wire.message import Message
from wireproof_reference_impl.settings import Settings


def number(name: str, change: Callable[[int], int]) -> Settings:
    """Return the setting of a choice that maps a number to a number."""
    return {name: change}


def layout(bytes_of: Callable[[Message], bytes]) -> Settings:
    """Return settings under which messages over TCP have another layout."""
    return {"message.layout": bytes_of}


def json_message(object_of: Callable[[Message], Mapping[str, object]]) -> Settings:
    """Return settings under which messages in JSON are other objects."""
    return {"json.message": object_of}
