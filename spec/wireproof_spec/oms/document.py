"""A document read strictly: its value, the JSON faults in its text, and its parts."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TypeAlias

from wireproof_spec import strict_json
from wireproof_spec.json_positions import JsonPlaces, TextPosition, place_at
from wireproof_spec.oms import names
from wireproof_spec.oms.names import Kind
from wireproof_spec.oms.rule_result import NOT_THERE, Breach
from wireproof_spec.oms.types import DICTIONARY, kind_of, literal
from wireproof_spec.strict_json import JsonFault, JsonValue
from wireproof_spec.wire_error import WireError

NOT_JSON = "not-json"

WRAPPER_POINTER = f"/{names.MESSAGE}"


class Gap(Enum):
    """Why a place has no value: it is not set, or the object around it is invalid."""

    ABSENT = "absent"
    LOST = "lost"


Found: TypeAlias = "JsonValue | Gap"


@dataclass(frozen=True)
class Document:
    """One document; if its text is no JSON, `refusal` says why and `value` is None."""

    data: bytes
    kind: Kind
    value: JsonValue
    liberties: tuple[JsonFault, ...] = ()
    refusal: WireError | None = None

    @property
    def header_pointer(self) -> str:
        """The JSON pointer of the extension header."""
        whole = self.kind is Kind.EXTENSION_HEADER
        return "" if whole else f"{WRAPPER_POINTER}/{names.EXTENSION_HEADER}"

    @property
    def message(self) -> Found:
        """The message inside its wrapper; lost if the document is only an extension header."""
        if self.kind is Kind.EXTENSION_HEADER or self.refusal is not None:
            return Gap.LOST
        return below(self.value, names.MESSAGE)

    @property
    def header(self) -> Found:
        """The message's header."""
        return below(self.message, names.HEADER)

    @property
    def extension_header(self) -> Found:
        """The extension header; absent if the message has none."""
        if self.kind is Kind.MESSAGE:
            return below(self.message, names.EXTENSION_HEADER)
        return self.value if self.refusal is None else Gap.LOST

    def attribute(self, name: str) -> Found:
        """Return an attribute of the extension header."""
        held = self.extension_header
        return Gap.ABSENT if held is Gap.ABSENT else below(held, name)

    def place(self, fault: Breach) -> TextPosition:
        """Return the position of a breach in the text."""
        if self.refusal is not None:
            return place_at(self.data, self.refusal.offset)
        places = self._places
        return places.name(fault.pointer) if fault.at_name else places.value(fault.pointer)

    def dictionary_faults(self, pointer: str, found: Found, due: str) -> tuple[Breach, ...]:
        """Return the breach at a place that must be a dictionary and is not; empty if it is."""
        if self.refusal is not None:
            refused = self.refusal
            return (Breach(NOT_JSON, "", f"JSON ({refused.expected})", refused.found),)
        if found is Gap.ABSENT:
            return (Breach(NOT_THERE, pointer, due, "nothing"),)
        if isinstance(found, Gap) or kind_of(found) == DICTIONARY:
            return ()
        return (Breach(kind_of(found), pointer, due, literal(found)),)

    @cached_property
    def _places(self) -> JsonPlaces:
        return JsonPlaces(self.data)


def read(data: bytes, kind: Kind) -> Document:
    """Read a document; a text that is no JSON gives a document with a `refusal`."""
    try:
        strict = strict_json.read(data)
    except WireError as error:
        return Document(data, kind, None, refusal=error)
    return Document(data, kind, strict.value, strict.faults)


def below(found: Found, name: str) -> Found:
    """Return the member of an object, absent if not set; lost if the value is no object."""
    if not isinstance(found, Mapping):
        return Gap.LOST
    return found.get(name, Gap.ABSENT)
