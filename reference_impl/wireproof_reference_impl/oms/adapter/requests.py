"""Requests as they come in, and answers as they go out: one JSON object each."""

from collections.abc import Mapping
from typing import Final, Protocol

from msgspec import Struct

from wireproof_reference_impl.oms.core.refusal import BAD_PARAMETER, Refusal
from wireproof_spec import strict_json
from wireproof_spec.oms.document import Document
from wireproof_spec.oms.names import Kind
from wireproof_spec.strict_json import JsonFault, JsonValue
from wireproof_spec.wire_error import WireError

MOST_ID: Final = (1 << 53) - 1


class Malformed(Exception):
    """Raised for input that is no request, and has no id that an answer could name."""


class Unsupported(Exception):
    """Raised for an operation, or a member of a request, that the adapter does not know."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


class Caller(Protocol):
    """The interface of a connection that sent a request and gets the answer, now or later."""

    client: str

    def answer(self, answer: Mapping[str, JsonValue], now_ns: int) -> None:
        """Send the answer to the request."""


class Request(Struct, frozen=True):
    """A request of the kit to the adapter: its id, its operation and its fields.

    `faults` are what strict JSON forbids in its text, such as repeated names.
    """

    id: int
    op: str
    fields: Mapping[str, JsonValue]
    faults: tuple[JsonFault, ...] = ()

    def text(self, name: str) -> str:
        """Return the member `name` of the request, a string.

        Raises:
            Refusal: it is missing, or of another type.
        """
        value = self.fields.get(name)
        if not isinstance(value, str):
            raise self._wrong(name, "a string")
        return value

    def number(self, name: str, otherwise: int) -> int:
        """Return the member `name`, a whole number from 0 on, or `otherwise` if it is missing.

        Raises:
            Refusal: it is of another type, or negative.
        """
        value = self.fields.get(name, otherwise)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self._wrong(name, "a whole number from 0 on")
        return value

    def message(self, name: str) -> Document:
        """Return the member `name`, a message in its wrapper, with the faults of its text."""
        place = f"/{name}"
        faults = tuple(
            JsonFault(fault.kind, fault.pointer.removeprefix(place), fault.text)
            for fault in self.faults
            if fault.pointer.startswith(place)
        )
        return Document(b"", Kind.MESSAGE, self.fields.get(name), faults)

    def check_known(self, *names: str) -> None:
        """Check that the request has no members but these.

        Raises:
            Unsupported: it has; what is not understood must not be passed over.
        """
        for name in self.fields:
            if name not in names:
                raise Unsupported(name)

    def _wrong(self, name: str, due: str) -> Refusal:
        shown = "nothing" if name not in self.fields else f"{self.fields[name]!r}"
        return Refusal(BAD_PARAMETER, f"{self.op}: expected {name} as {due}, found {shown}")


def read_request(data: bytes) -> Request:
    """Return the request in a JSON text.

    Raises:
        Malformed: the text is no request.
    """
    try:
        read = strict_json.read(data)
    except WireError as error:
        raise Malformed(f"expected JSON ({error.expected}), found {error.found}") from None
    if not isinstance(read.value, dict):
        raise Malformed("expected a JSON object")
    id, op = read.value.get("id"), read.value.get("op")
    if isinstance(id, bool) or not isinstance(id, int) or not 1 <= id <= MOST_ID:
        raise Malformed(f"expected an id from 1 to {MOST_ID}")
    if not isinstance(op, str):
        raise Malformed("expected an operation, a string, as op")
    fields = {name: value for name, value in read.value.items() if name not in ("id", "op")}
    return Request(id, op, fields, read.faults)


def result(id: int, fields: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the answer to the request `id`, which was carried out."""
    return {"id": id, "ok": dict(fields)}


def failure(id: int, refusal: Refusal) -> dict[str, JsonValue]:
    """Return the answer to the request `id`, which was refused."""
    error: JsonValue = {"code": str(refusal.code), "message": refusal.reason}
    return {"id": id, "error": error}


def unsupported(id: int, what: str) -> dict[str, JsonValue]:
    """Return the answer to the request `id`, in which the adapter does not know `what`."""
    return {"id": id, "unsupported": what}
