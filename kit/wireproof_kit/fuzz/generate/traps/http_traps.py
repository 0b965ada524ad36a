"""HTTP heads that parsers often misread."""

from collections.abc import Mapping
from urllib.parse import quote, unquote_to_bytes

from wireproof_kit.fuzz.generate.random_source import RandomSource
from wireproof_kit.fuzz.generate.traps.text_traps import Trap, instead, make_append_trap


def _before(lines: bytes) -> Trap:
    """Return the trap that inserts lines before the end of the head."""
    return lambda end, source: lines + end


def _many(end: bytes, source: RandomSource) -> bytes:
    return b"".join(b"X-%d: y\r\n" % number for number in range(2000)) + end


def escape_traps(traps: Mapping[str, Trap]) -> Mapping[str, Trap]:
    """Return traps (changes of a text) for percent-encoded text.

    Each one is applied to the decoded text, and the result is encoded again.
    """
    return {name: _escape_trap(trap) for name, trap in traps.items()}


def _escape_trap(trap: Trap) -> Trap:
    return lambda text, source: quote(trap(unquote_to_bytes(text), source), safe="").encode()


METHODS: Mapping[str, Trap] = {
    f"method {method.decode()}": instead(method)
    for method in (b"GET", b"HEAD", b"PUT", b"PATCH", b"OPTIONS", b"TRACE", b"CONNECT", b"PRI")
}
VERSIONS: Mapping[str, Trap] = {
    f"version {version.decode()}": instead(version)
    for version in (b"HTTP/1.0", b"HTTP/0.9", b"HTTP/2.0", b"HTTP/1.10", b"HTTP/1.1.1", b"HTTP/")
}
ENDS: Mapping[str, Trap] = {
    "chunked as well": _before(b"Transfer-Encoding: chunked\r\n"),
    "chunked, not quite": _before(b"Transfer-Encoding: xchunked\r\n"),
    "a length as well": _before(b"Content-Length: 1\r\n"),
    "a length of zero as well": _before(b"Content-Length: 0\r\n"),
    "a negative length": _before(b"Content-Length: -1\r\n"),
    "a length beyond 64 bits": _before(b"Content-Length: 18446744073709551617\r\n"),
    "another host": _before(b"Host: other\r\n"),
    "expects to go on": _before(b"Expect: 100-continue\r\n"),
    "expects what there is not": _before(b"Expect: nothing\r\n"),
    "an upgrade": _before(b"Connection: Upgrade\r\nUpgrade: h2c\r\n"),
    "no colon": _before(b"X-Nothing\r\n"),
    "no name": _before(b": x\r\n"),
    "a blank before the colon": _before(b"X-A : x\r\n"),
    "a folded line": _before(b"X-A: x\r\n  y\r\n"),
    "a NUL in a name": _before(b"X-\0A: x\r\n"),
    "no ASCII in a name": _before("X-Ä: x\r\n".encode()),
    "a long value": _before(b"X-A: " + b"x" * 70_000 + b"\r\n"),
    "a long name": _before(b"X" * 70_000 + b": x\r\n"),
    "many headers": _many,
    "only line feeds": instead(b"\n"),
    "no end": instead(b""),
}
ESCAPES: Mapping[str, Trap] = {
    "escaped NUL": instead(b"%00"),
    "escaped line feed": instead(b"a%0Ab"),
    "escaped dots": instead(b"%2e%2e%2f%2e%2e%2f"),
    "escaped twice": lambda text, source: b"%25" + text.hex().encode(),
    "escaped, no UTF-8": instead(b"%ff%c0%af"),
    "escaped, overlong": instead(b"%e0%80%af"),
    "a cut escape": instead(b"%2"),
    "a lone percent": instead(b"%"),
    "no such escape": instead(b"%zz%u0041"),
    "a plus": instead(b"a+b"),
    "nameless parameters": make_append_trap(b"&&=&=x"),
    "a fragment": make_append_trap(b"#x"),
    "a semicolon": make_append_trap(b";x=1"),
}
