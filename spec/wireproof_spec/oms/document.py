"""A document read strictly: its value, the JSON faults in its text, and its parts."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TypeAlias

from wireproof_spec import strict_json
from wireproof_spec.oms import names
from wireproof_spec.oms.json_positions import JsonPlaces, TextPosition, place_at
from wireproof_spec.oms.names import Kind
from wireproof_spec.oms.rule_result import NOT_THERE, Breach
from wireproof_spec.oms.types import DICTIONARY, kind_of, literal
from wireproof_spec.strict_json import JsonFault, JsonValue
from wireproof_spec.wire_error import WireError

NOT_JSON = "not-json"

WRAPPER_POINTER = f"/{names.MESSAGE}"


class Gap(Enum):
    """Why a member of a document has no value: it is not set, or what encloses it is invalid."""

    ABSENT = "absent"
    LOST = "lost"


Found: TypeAlias = "JsonValue | Gap"


@dataclass(frozen=True)
class Document:
    """An OpenMessaging document that was read from JSON.

    If its text is no JSON, `refusal` says why and `value` is None. `liberties` are faults that
    strict JSON forbids, such as repeated names.
    """

    data: bytes
    kind: Kind
    value: JsonValue
    liberties: tuple[JsonFault, ...] = ()
    refusal: WireError | None = None

    @property
    def header_pointer(self) -> str:
        """The JSON pointer of the extension header in this document."""
        whole = self.kind is Kind.EXTENSION_HEADER
        return "" if whole else f"{WRAPPER_POINTER}/{names.EXTENSION_HEADER}"

    @property
    def message(self) -> Found:
        """The message inside its wrapper; `Gap.LOST` in a document without one."""
        if self.kind is Kind.EXTENSION_HEADER or self.refusal is not None:
            return Gap.LOST
        return below(self.value, names.MESSAGE)

    @property
    def header(self) -> Found:
        """The header of the message, or a `Gap`."""
        return below(self.message, names.HEADER)

    @property
    def extension_header(self) -> Found:
        """The extension header of the message, or a `Gap`."""
        if self.kind is Kind.MESSAGE:
            return below(self.message, names.EXTENSION_HEADER)
        return self.value if self.refusal is None else Gap.LOST

    def attribute(self, name: str) -> Found:
        """Return the value of an attribute of the extension header, or a `Gap`."""
        held = self.extension_header
        return Gap.ABSENT if held is Gap.ABSENT else below(held, name)

    def place(self, fault: Breach) -> TextPosition:
        """Return the position of a breach of a rule in the document's text."""
        if self.refusal is not None:
            return place_at(self.data, self.refusal.offset)
        places = self._places
        return places.name(fault.pointer) if fault.at_name else places.value(fault.pointer)

    def dictionary_faults(self, pointer: str, found: Found, due: str) -> tuple[Breach, ...]:
        """Return the breach of a value that must be a dictionary and is none; empty if it is one.

        `due` says what was expected.
        """
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
    """Read a document from its bytes; if they are no JSON, the document has a `refusal`."""
    try:
        strict = strict_json.read(data)
    except WireError as error:
        return Document(data, kind, None, refusal=error)
    return Document(data, kind, strict.value, strict.faults)


def below(found: Found, name: str) -> Found:
    """Return the member `name` of an object: `Gap.ABSENT` if not set, `Gap.LOST` in no object."""
    if not isinstance(found, Mapping):
        return Gap.LOST
    return found.get(name, Gap.ABSENT)
