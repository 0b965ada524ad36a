"""Typed settings of single choices, so that lambdas in faults and variants are type-checked."""

from collections.abc import Callable, Mapping

from wireproof_reference_impl.iggy.wire.message import Message
from wireproof_reference_impl.settings import Settings


def number(name: str, change: Callable[[int], int]) -> Settings:
    """Return settings in which the choice `name` is a function from number to number."""
    return {name: change}


def layout(bytes_of: Callable[[Message], bytes]) -> Settings:
    """Return settings under which polled messages over TCP have the layout of this function."""
    return {"message.layout": bytes_of}


def json_message(object_of: Callable[[Message], Mapping[str, object]]) -> Settings:
    """Return settings under which polled messages in JSON are the objects of this function."""
    return {"json.message": object_of}
