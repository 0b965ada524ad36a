"""Errors for unusable answers of lookup servers, each explained in one sentence.

The sentence names the server, the question, what was expected and what was found.
"""

from dataclasses import dataclass

from wireproof_kit.decoding.json_text import json_line
from wireproof_kit.decoding.printable import printable
from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.nsq.topics.topic import Address
from wireproof_kit.nsq.wire.http import HttpAnswer
from wireproof_kit.wire.address import format_address
from wireproof_spec.strict_json import JsonValue

SHOWN = 60
ENVELOPE = frozenset({"status_code", "status_txt", "data"})
FAILURES = {
    "silence": "was given no whole answer in time",
    "closed": "was given no answer, the connection was closed",
    "nonsense": "was given no whole HTTP response (is it the HTTP address of an nsqlookupd?)",
    "unreachable": "could not be asked, no connection is accepted (is it running?)",
}


class Unusable(ArrangementFailed):
    """A lookup server's response could not be decoded."""


class LookupRefused(Unusable):
    """A lookup server refused the request with a well-formed response."""


@dataclass(frozen=True, slots=True)
class LookupRequest:
    """A request to a lookup server; every error sentence begins with its server and text."""

    server: Address
    what: str

    def unusable(self, found: str) -> Unusable:
        """Return the error for an unexpected response; ``found`` describes the response."""
        return Unusable(f"lookup server {self.text}: {self.what} {found}")

    def wrong(self, field: str, *, expected: str, found: JsonValue) -> Unusable:
        """Return the error for a field of the response with an unexpected value."""
        return self.unusable(
            f"gave a wrong {field}: expected {expected}, found {format_short(found)}"
        )

    @property
    def text(self) -> str:
        """The lookup server's address as HOST:PORT."""
        return format_address(self.server)


def read_payload(answer: HttpAnswer, asked: LookupRequest) -> dict[str, JsonValue]:
    """Return the JSON object in a lookup server's response, without its envelope if it has one.

    Raises:
        LookupRefused: the server refuses, by its status or in its envelope.
        Unusable: anything else that is no JSON object with status 200.
    """
    _check_whole(answer, asked)
    value = answer.json.value if answer.json else None
    status = _status(answer, value)
    if status != 200:
        raise LookupRefused(str(asked.unusable(f"was answered {status}, {complaint(answer)}")))
    if answer.json is None:
        text = short(printable(answer.body[:SHOWN].decode("utf-8", "replace")))
        raise asked.unusable(
            f"was answered 200 with no JSON, but {text or 'an empty body'} "
            "(is it the HTTP address of an nsqlookupd?)"
        )
    data = value["data"] if isinstance(value, dict) and value.keys() >= ENVELOPE else value
    if not isinstance(data, dict):
        raise asked.wrong("body", expected="a JSON object", found=data)
    return data


def complaint(answer: HttpAnswer) -> str:
    """Return the error text of a response, even when its JSON lacks escapes."""
    if answer.code:
        return short(printable(answer.code))
    text = answer.body[: 4 * SHOWN].decode("utf-8", "replace").strip()
    bare = text.removeprefix('{"message":"').removesuffix('"}')
    if not bare:
        return "with an empty body"
    return f"{short(printable(bare))} (which is no JSON)"


def format_short(value: JsonValue) -> str:
    """Return a shortened JSON value on one line."""
    return short(json_line(value))


def short(text: str) -> str:
    """Return a text shortened to fit in a sentence."""
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def _check_whole(answer: HttpAnswer, asked: LookupRequest) -> None:
    if answer.failure is not None:
        said = FAILURES.get(answer.failure, answer.failure)
        raise asked.unusable(said)
    if 300 <= answer.status < 400:
        place = printable(answer.header("location") or "nowhere")
        raise asked.unusable(
            f"was redirected to {short(place)}; redirects are not followed, "
            "give that address itself with --lookupd if it is the right one"
        )


def _status(answer: HttpAnswer, value: JsonValue) -> int:
    """Return the status code, which an envelope may repeat in the body."""
    within = value.get("status_code") if isinstance(value, dict) else None
    if answer.status == 200 and answer.is_wrapped and isinstance(within, int):
        return within
    return answer.status
