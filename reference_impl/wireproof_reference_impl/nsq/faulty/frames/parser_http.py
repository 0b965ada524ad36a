"""Faults of parsers: requests over HTTP."""

from wireproof_reference_impl.nsq.faulty.harm import HARMS, ProcessEnds, StopsReading
from wireproof_reference_impl.nsq.preset import Preset, parser_fault
from wireproof_reference_impl.nsq.requests.http_header import whole_body
from wireproof_reference_impl.nsq.requests.http_request import Request

_MANY_HEADERS = 100
_LONG_VALUE = 60_000


def _many_headers_halt(request: Request, body: bytearray) -> bytes:
    if len(request.headers) > _MANY_HEADERS:
        raise ProcessEnds
    return whole_body(request, body)


def _long_value_deafens(request: Request, body: bytearray) -> bytes:
    if any(len(value) > _LONG_VALUE for _, value in request.headers):
        raise StopsReading
    return whole_body(request, body)


def _nul_halts(request: Request, body: bytearray) -> bytes:
    if any(b"\0" in value for value in request.query.values()):
        raise ProcessEnds
    return whole_body(request, body)


def _bad_escape_deafens(request: Request, body: bytearray) -> bytes:
    if not request.escaped:
        raise StopsReading
    return whole_body(request, body)


def _recode(request: Request, body: bytearray) -> bytes:
    return whole_body(request, body).decode("latin-1").encode()


def _nul_unseen(request: Request, body: bytearray) -> bytes:
    return b"" if body.startswith(b"\0") else whole_body(request, body)


FAULTS: tuple[Preset, ...] = (
    parser_fault(
        "http-headers-halt",
        "an HTTP request with more than a hundred headers crashes the broker",
        {"http.body": _many_headers_halt},
        overrides=HARMS,
    ),
    parser_fault(
        "http-long-value-deafens",
        "an HTTP request with a header of more than 60000 bytes is never answered",
        {"http.body": _long_value_deafens},
        overrides=HARMS,
    ),
    parser_fault(
        "http-nul-halts",
        "an escaped NUL in an HTTP query crashes the broker",
        {"http.body": _nul_halts},
        overrides=HARMS,
    ),
    parser_fault(
        "http-escape-deafens",
        "an HTTP request whose query has a percent sign without two digits after it is never "
        "answered",
        {"http.body": _bad_escape_deafens},
        overrides=HARMS,
    ),
    parser_fault(
        "http-body-recoded",
        "the body of an HTTP request is decoded as Latin-1 and stored as UTF-8",
        {"http.body": _recode},
    ),
    parser_fault(
        "http-nul-body-unseen",
        "the body of an HTTP request that begins with a NUL is read as empty",
        {"http.body": _nul_unseen},
    ),
)
