"""Bytes as Python source, as short as possible and safe: data can never become code."""

import base64
import re
import zlib
from collections.abc import Iterator

LONG_RUN = 40
LONGEST_SOURCE = 1600
PIECE = 64
INDENT = "\n        "

_RUN = re.compile(rb"(.)\1{%d,}" % (LONG_RUN - 1), re.DOTALL)


def literal(data: bytes) -> str:
    """Return a Python expression for the bytes; it may use `zlib` and `base64`."""
    terms = list(_terms(data)) or ["b''"]
    if sum(map(len, terms)) > LONGEST_SOURCE:
        return _deflate(data)
    whole = f"{INDENT}+ ".join(terms)
    return f"({INDENT}{whole}{INDENT[:-4]})" if INDENT in whole else whole


def _terms(data: bytes) -> Iterator[str]:
    end = 0
    for run in _RUN.finditer(data):
        if run.start() > end:
            yield _pieces(data[end : run.start()])
        yield f"{run[1]!r} * {len(run[0])}"
        end = run.end()
    if end < len(data):
        yield _pieces(data[end:])


def _pieces(data: bytes) -> str:
    starts = range(0, len(data), PIECE)
    return INDENT.join(repr(data[start : start + PIECE]) for start in starts)


def _deflate(data: bytes) -> str:
    packed = base64.b64encode(zlib.compress(data, 9)).decode()
    return f"zlib.decompress(base64.b64decode({packed!r}))"
