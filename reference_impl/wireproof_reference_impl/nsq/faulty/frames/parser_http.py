"""Faults of parsers: requests over HTTP."""

from wireproof_reference_impl.faults import list_faults, setting
from wireproof_reference_impl.nsq.faulty.harm import HARMS, ProcessEnds, StopsReading
from wireproof_reference_impl.nsq.faulty.ways import parser_fault
from wireproof_reference_impl.nsq.requests.http_header import whole_body
from wireproof_reference_impl.nsq.requests.http_request import Request

_MANY_HEADERS = 100
_LONG_VALUE = 60_000


@parser_fault(setting("http.body"), also=HARMS)
def http_headers_halt(request: Request, body: bytearray) -> bytes:
    """An HTTP request with more than a hundred headers crashes the broker."""
    if len(request.headers) > _MANY_HEADERS:
        raise ProcessEnds
    return whole_body(request, body)


@parser_fault(setting("http.body"), also=HARMS)
def http_long_value_deafens(request: Request, body: bytearray) -> bytes:
    """An HTTP request with a header of more than 60000 bytes is never answered."""
    if any(len(value) > _LONG_VALUE for _, value in request.headers):
        raise StopsReading
    return whole_body(request, body)


@parser_fault(setting("http.body"), also=HARMS)
def http_nul_halts(request: Request, body: bytearray) -> bytes:
    """An escaped NUL in an HTTP query crashes the broker."""
    if any(b"\0" in value for value in request.query.values()):
        raise ProcessEnds
    return whole_body(request, body)


@parser_fault(setting("http.body"), also=HARMS)
def http_escape_deafens(request: Request, body: bytearray) -> bytes:
    """An HTTP request whose query has a percent sign without two digits after it is never
    answered.
    """
    if not request.escaped:
        raise StopsReading
    return whole_body(request, body)


@parser_fault(setting("http.body"))
def http_body_recoded(request: Request, body: bytearray) -> bytes:
    """The body of an HTTP request is decoded as Latin-1 and stored as UTF-8."""
    return whole_body(request, body).decode("latin-1").encode()


@parser_fault(setting("http.body"))
def http_nul_body_unseen(request: Request, body: bytearray) -> bytes:
    """The body of an HTTP request that begins with a NUL is read as empty."""
    return b"" if body.startswith(b"\0") else whole_body(request, body)


FAULTS = list_faults(__name__)
