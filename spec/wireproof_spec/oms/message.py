"""Rules of the message around the extension header: its wrapper, its parts, its header."""

from collections.abc import Callable, Iterable
from decimal import Decimal

from wireproof_spec.oms import names
from wireproof_spec.oms.document import WRAPPER_POINTER, Document, Found, Gap, below
from wireproof_spec.oms.names import HEADER_ATTRIBUTES, QOS_VALUES, Type
from wireproof_spec.oms.rule_result import (
    DESCRIBED,
    NOT_THERE,
    UNREADABLE,
    UNSET,
    Breach,
    RuleResult,
    make_result,
)
from wireproof_spec.oms.types import (
    DUE,
    KEY_VALUE,
    STRING,
    is_base64,
    kind_of,
    literal,
    members,
    misfit,
    misfits,
    no_values,
)
from wireproof_spec.strict_json import JsonValue

EMPTY = "empty"
EMPTY_DICTIONARY = "empty-dictionary"
OTHER_TEXT = "other-text"
UNDEFINED = "undefined"

_HEADER = f"{WRAPPER_POINTER}/{names.HEADER}"
_WRAPPER = 'a dictionary with "message", itself a dictionary'
_NON_EMPTY = "a non-empty String"
_BINARY = "Binary, as base64"


def wrapper(document: Document) -> RuleResult:
    """Check that the document is a dictionary that has a dictionary "message"."""
    found = document.dictionary_faults("", document.value, _WRAPPER)
    return make_result(
        found or document.dictionary_faults(WRAPPER_POINTER, document.message, _WRAPPER)
    )


def version(document: Document) -> RuleResult:
    """Check that the message has a version of type String."""
    pointer = f"{WRAPPER_POINTER}/{names.VERSION}"
    return _require(below(document.message, names.VERSION), pointer, Type.STRING)


def header(document: Document) -> RuleResult:
    """Check that the message has a header of type KeyValue."""
    return _key_value(document, names.HEADER)


def properties(document: Document) -> RuleResult:
    """Check that the message has properties of type KeyValue, which may be empty."""
    return _key_value(document, names.PROPERTIES)


def value(document: Document) -> RuleResult:
    """Check that each value in header and properties of a message is String, Binary or Numeric.

    Attributes of the header have their own rules.
    """
    parts = {names.HEADER: HEADER_ATTRIBUTES, names.PROPERTIES: {}}
    held = [
        (f"{WRAPPER_POINTER}/{name}", below(document.message, name), known)
        for name, known in parts.items()
    ]
    if not any(isinstance(found, dict) for _, found, _ in held):
        return RuleResult(UNREADABLE)
    return make_result(
        fault
        for pointer, found, known in held
        if isinstance(found, dict)
        for name, place, value in members(pointer, found)
        if name not in known
        for fault in no_values(place, value)
    )


def data(document: Document) -> RuleResult:
    """Check that a message's data, if present, are Binary; the text has no Binary in JSON."""
    found = below(document.message, names.DATA)
    if isinstance(found, Gap):
        return _gap(found)
    if isinstance(found, str) and is_base64(found):
        return RuleResult(DESCRIBED)
    word = EMPTY_DICTIONARY if found == {} else kind_of(found)
    word = OTHER_TEXT if word == STRING else word
    return make_result([Breach(word, f"{WRAPPER_POINTER}/{names.DATA}", _BINARY, literal(found))])


def message_id(document: Document) -> RuleResult:
    """Check that the message header has a messageId, a String that is not empty."""
    return _attribute(document, names.MESSAGE_ID, _empty_faults)


def born_timestamp(document: Document) -> RuleResult:
    """Check that the message header has a bornTimestamp of type Long."""
    return _attribute(document, names.BORN_TIMESTAMP)


def born_host(document: Document) -> RuleResult:
    """Check that the message header has a bornHost, a String that is not empty."""
    return _attribute(document, names.BORN_HOST, _empty_faults)


def qos(document: Document) -> RuleResult:
    """Check that the qos in a message header is 0, 1 or 2, if present."""
    return _attribute(document, names.QOS, _qos_faults, required=False)


def destination(document: Document) -> RuleResult:
    """Check that the message header has a destination of type String."""
    return _attribute(document, names.DESTINATION)


def compression(document: Document) -> RuleResult:
    """Check that the compression in a message header is a String, if present."""
    return _attribute(document, names.COMPRESSION, required=False)


Further = Callable[[str, JsonValue], Iterable[Breach]]
"""Returns what else is wrong with a value of the right type, by pointer and value."""


def _nothing_more(pointer: str, value: JsonValue) -> Iterable[Breach]:
    return ()


def _attribute(
    document: Document, name: str, further: Further = _nothing_more, *, required: bool = True
) -> RuleResult:
    found = below(document.header, name)
    if found is Gap.ABSENT and not required:
        return RuleResult(UNSET)
    return _require(found, f"{_HEADER}/{name}", HEADER_ATTRIBUTES[name], further)


def _require(
    found: Found, pointer: str, wanted: Type, further: Further = _nothing_more
) -> RuleResult:
    if found is Gap.ABSENT:
        return make_result([Breach(NOT_THERE, pointer, DUE[wanted], "nothing")])
    if isinstance(found, Gap):
        return RuleResult(UNREADABLE)
    wrong = misfit(found, wanted) is not None
    return make_result(misfits(pointer, found, wanted) if wrong else further(pointer, found))


def _empty_faults(pointer: str, value: JsonValue) -> Iterable[Breach]:
    return (Breach(EMPTY, pointer, _NON_EMPTY, '""'),) if value == "" else ()


def _qos_faults(pointer: str, value: JsonValue) -> Iterable[Breach]:
    if isinstance(value, int | Decimal) and value not in QOS_VALUES:
        return (Breach(UNDEFINED, pointer, "0, 1 or 2", literal(value)),)
    return ()


def _key_value(document: Document, name: str) -> RuleResult:
    """Check that a required KeyValue is a dictionary."""
    found = below(document.message, name)
    pointer = f"{WRAPPER_POINTER}/{name}"
    if found is Gap.LOST:
        return RuleResult(UNREADABLE)
    return make_result(document.dictionary_faults(pointer, found, KEY_VALUE))


def _gap(gap: Gap) -> RuleResult:
    return RuleResult(UNSET if gap is Gap.ABSENT else UNREADABLE)
