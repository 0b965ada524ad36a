r"""Checks JSON documents of the protocols with JSON Schemas (Draft 2020-12).

The name of a schema is its protocol and file: `nsq/ext-header` lies in `nsq/json_schemas/`. The
schemas of the driver protocol are called `driver/…`. Patterns end in `$(?!\n)`, because Python's
`$` alone allows a line feed after it.

One check of a 60-byte header takes about 16 µs, six times as long as decoding a message and
parsing its header: code that runs for every message has checks of its own.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, TypedDict, cast

from wireproof_spec import strict_json
from wireproof_spec.protocol import UnknownProtocol, find_protocol
from wireproof_spec.strict_json import JsonValue
from wireproof_spec.wording import show_value

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError

_NAMESPACE = "urn:wireproof:"
_DRIVER = "wireproof_spec.driver"


JsonSchema = TypedDict(
    "JsonSchema",
    {
        "$id": str,
        "$ref": str,
        "$schema": str,
        "additionalProperties": "JsonSchema",
        "anyOf": list["JsonSchema"],
        "const": JsonValue,
        "enum": list[JsonValue],
        "items": "JsonSchema",
        "maxLength": int,
        "maximum": int,
        "minLength": int,
        "minimum": int,
        "pattern": str,
        "properties": dict[str, "JsonSchema"],
        "propertyNames": "JsonSchema",
        "required": list[str],
        "type": str | list[str],
    },
    total=False,
)
"""The keywords of JSON Schema from which documents are made."""


@dataclass(frozen=True, slots=True)
class SchemaFault:
    """A violation of a JSON schema: its JSON pointer, what was expected and what was found."""

    pointer: str
    expected: str
    found: str
    missing: tuple[str, ...] = ()
    """The members that an object lacks, if that is the violation."""

    @property
    def due(self) -> str:
        """What was expected: the missing members of an object, or the rule that a value breaks."""
        return ", ".join(map(show_value, self.missing)) if self.missing else self.expected

    @property
    def text(self) -> str:
        """The violation as a sentence."""
        return f"expected {self.due}, found {self.found}"


def check(name: str, value: JsonValue) -> tuple[SchemaFault, ...]:
    """Return the violations of the JSON schema `name` in a value, sorted by JSON pointer."""
    validator: Any = _validator(name)  # the stubs leave out Decimal
    errors: Iterable[ValidationError] = validator.iter_errors(value)
    found = map(_fault, errors)
    return tuple(sorted(found, key=lambda fault: (fault.pointer, fault.expected)))


def document(name: str) -> JsonSchema:
    """Return the JSON schema with this name.

    Raises:
        LookupError: no schema has this name.
    """
    protocol, _, stem = name.partition("/")
    try:
        file = _folder(protocol) / "json_schemas" / f"{stem}.json"
        return cast(JsonSchema, strict_json.read(file.read_bytes()).value)
    except (UnknownProtocol, FileNotFoundError):
        raise LookupError(f"no JSON Schema is called {name}") from None


def _folder(name: str) -> "Traversable":
    return resources.files(_DRIVER) if name == "driver" else find_protocol(name).folder()


@cache
def _validator(name: str) -> "Draft202012Validator":
    # Imported when used: jsonschema takes longer to load than all the rest of this package.
    from jsonschema import Draft202012Validator, validators
    from referencing import Registry, Resource

    @cache  # the validator asks for what a schema refers to at every check
    def retrieve(uri: str) -> Resource[Any]:
        return Resource.from_contents(document(uri.removeprefix(_NAMESPACE)))

    registry: Registry[Any] = Registry(retrieve=retrieve)  # type: ignore[call-arg]  # attrs alias
    schema: Any = document(name)
    types = Draft202012Validator.TYPE_CHECKER.redefine_many(
        {"integer": _is_integer, "number": _is_number}
    )
    exact = cast(Any, validators).extend(  # its types are left out
        Draft202012Validator, type_checker=types
    )
    validator: Draft202012Validator = exact(schema, registry=registry)
    return validator


def _is_integer(checker: object, value: object) -> bool:
    # As the draft has it: 1e1 is one, however it is spelled.
    if isinstance(value, Decimal):
        return value.is_finite() and value == value.to_integral_value()
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(checker: object, value: object) -> bool:
    if isinstance(value, Decimal):
        return value.is_finite()
    return isinstance(value, int | float) and not isinstance(value, bool)


def _fault(error: "ValidationError") -> SchemaFault:
    steps = (str(step).replace("~", "~0").replace("/", "~1") for step in error.absolute_path)
    pointer = "".join(f"/{step}" for step in steps)
    expected = f"{error.validator} {show_value(error.validator_value)}"
    missing: tuple[str, ...] = ()
    if error.validator == "required":
        there = cast(dict[str, JsonValue], error.instance)
        names = cast(list[str], error.validator_value)
        missing = tuple(name for name in names if name not in there)
    return SchemaFault(pointer, expected, show_value(error.instance), missing)
