"""Rules on the whole document: unique names, printable strings, misspelled names."""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping

from wireproof_spec.oms import names
from wireproof_spec.oms.document import WRAPPER_POINTER, Document, Found
from wireproof_spec.oms.json_positions import child_pointer
from wireproof_spec.oms.names import ATTRIBUTES, HEADER_ATTRIBUTES, PARTS, Kind
from wireproof_spec.oms.rule_result import DESCRIBED, UNREADABLE, Breach, RuleResult, make_result
from wireproof_spec.oms.types import members
from wireproof_spec.strict_json import DUPLICATE_NAME, JsonValue

REPEATED = "repeated-name"
UNPRINTABLE = "unprintable"
NEAR_NAME = "near-name"
MISPLACED = "misplaced-name"
UNKNOWN = "unknown-name"

UNPRINTABLE_SIGN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Control characters, surrogates, line and paragraph separators; all else can be printed."""

_DATA = f"{WRAPPER_POINTER}/{names.DATA}"
_ALIKE = 0.85
_LONGEST = 40
"""No name of the text is half as long; comparing much longer ones would take for ever."""


def unique_name(document: Document) -> RuleResult:
    """Check that no dictionary in the document has the same name twice."""
    if document.refusal is not None:
        return RuleResult(UNREADABLE)
    return make_result(
        Breach(
            REPEATED, liberty.pointer, "each name once", f"{liberty.text!a} again", at_name=True
        )
        for liberty in document.liberties
        if liberty.kind == DUPLICATE_NAME
    )


def printable(document: Document) -> RuleResult:
    """Check that every String in the document has only printable Unicode characters."""
    if document.refusal is not None:
        return RuleResult(UNREADABLE)
    return make_result(_unprintable("", document.value))


def known_name(document: Document) -> RuleResult:
    """Check that no name in the document looks like a misspelling of a name of the text.

    The result also says whether there are names that the text does not define.
    """
    held = list(_list_names(document))
    if document.refusal is not None or not any(isinstance(each[1], Mapping) for each in held):
        return RuleResult(UNREADABLE)
    unknown = [
        (child_pointer(pointer, name), name, known, elsewhere)
        for pointer, found, known, elsewhere in held
        if isinstance(found, Mapping)
        for name in found
        if name not in known
    ]
    found = (fault for each in unknown for fault in _name_faults(*each))
    return make_result(found, UNKNOWN if unknown else DESCRIBED)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name of which a name may be a misspelling, or None."""
    if len(name) > _LONGEST:
        return None
    plain = {_plain(each): each for each in known}
    near = difflib.get_close_matches(_plain(name), plain, n=1, cutoff=_ALIKE)
    return plain[near[0]] if near else None


def _plain(name: str) -> str:
    return "".join(sign for sign in name.casefold() if sign.isalnum())


def _list_names(document: Document) -> Iterator[tuple[str, Found, Iterable[str], Iterable[str]]]:
    """Yield each dictionary with defined names: pointer, value, its names, the other's names."""
    yield document.header_pointer, document.extension_header, ATTRIBUTES, HEADER_ATTRIBUTES
    if document.kind is Kind.MESSAGE:
        yield WRAPPER_POINTER, document.message, PARTS, ()
        header = f"{WRAPPER_POINTER}/{names.HEADER}"
        yield header, document.header, HEADER_ATTRIBUTES, ATTRIBUTES


def _name_faults(
    pointer: str, name: str, known: Iterable[str], elsewhere: Iterable[str]
) -> Iterator[Breach]:
    if name in elsewhere:
        yield Breach(
            MISPLACED, pointer, "this field in the other header", ascii(name), at_name=True
        )
        return
    near = nearest(name, known)
    if near is not None:
        yield Breach(NEAR_NAME, pointer, f"perhaps {near}", ascii(name), at_name=True)


def _unprintable(pointer: str, value: JsonValue) -> Iterator[Breach]:
    if isinstance(value, str):
        yield from _text_faults(pointer, value, at_name=False)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unprintable(f"{pointer}/{index}", item)
    elif isinstance(value, dict):
        for name, place, below in members(pointer, value):
            yield from _text_faults(place, name, at_name=True)
            if place != _DATA:
                yield from _unprintable(place, below)


def _text_faults(pointer: str, text: str, *, at_name: bool) -> Iterator[Breach]:
    match = UNPRINTABLE_SIGN.search(text)
    if match is not None:
        around = text[max(match.start() - 20, 0) : match.start() + 20]
        found = f"U+{ord(match[0]):04X} in {around!a}"
        yield Breach(UNPRINTABLE, pointer, "printable characters", found, at_name)
