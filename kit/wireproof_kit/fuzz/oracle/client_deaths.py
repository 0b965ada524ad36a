"""Finds where in a client it died, in what it wrote: so one bug has one name in every campaign.

Numbers are left out: what was sent, and lines of sources, differ from death to death.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final

LONGEST: Final = 160
_DIGITS = re.compile(r"\d+")
_GO = re.compile(r"(panic|fatal error): .*")
_GO_FUNCTION = re.compile(r"([\w./*()\[\]{}~-]+)\(.*\)$")
_PYTHON = re.compile(r'  File ".*", line \d+, in (\S+)')
_RUST = re.compile(r"thread '.*' (?:\(\d+\) )?panicked at (?:.*/registry/src/[^/]+/)?([^:]+)")
"""Where a machine keeps the sources of crates says nothing of the death."""
_NODE = re.compile(r"\s+at (?:async )?([\w.<>$ \[\]]+) \(")
_ERROR = re.compile(r"(?:Uncaught )?([A-Za-z_.]*(?:Error|Exception|Exit|Interrupt)\b[^:]*)")
_OTHERS = re.compile(
    r"^(Exception in thread|Unhandled exception|Fatal error)", re.MULTILINE | re.I
)
"""How Java, .NET and other languages begin the trace of an error that nobody handled."""
_RUST_PANIC = 101
_SIGNALLED = 128
"""From here on, an exit code of a shell or a launcher says that a signal ended its program."""
_IN_THE_LANGUAGE = ("panic", "runtime.", "runtime/", "sync.", "internal/")


def is_crash(code: int, text: str) -> bool:
    """Return True if a program has not ended by itself; ``text`` is what it wrote.

    A program that says what is wrong and ends, with any exit code, has not crashed.
    """
    killed = code < 0 or code == _RUST_PANIC or code >= _SIGNALLED
    return killed or bool(find_reason(text)) or _OTHERS.search(text) is not None


def find_reason(text: str) -> str:
    """Return why and where a program crashed, from its output; empty if the output has neither."""
    lines = text.splitlines()
    for find in (_find_go, _find_rust, _find_python, _find_node):
        found = find(lines)
        if found:
            return _DIGITS.sub("N", found)[:LONGEST]
    return ""


def _find_go(lines: Sequence[str]) -> str:
    at = _first(lines, lambda line: _GO.match(line) is not None)
    if at is None:
        return ""
    error = lines[at].partition(" [")[0]  # in brackets are the numbers that did not fit
    for line in lines[at + 1 :]:
        function = _GO_FUNCTION.match(line)
        if function and not function[1].startswith(_IN_THE_LANGUAGE):
            return f"{error} in {function[1]}"
    return error


def _find_rust(lines: Sequence[str]) -> str:
    found = (_RUST.search(line) for line in lines)
    return next((f"panic in {each[1]}" for each in found if each), "")


def _find_python(lines: Sequence[str]) -> str:
    """Return the last error that a traceback ends with, and its innermost function."""
    inside, found = "", ""
    for line in lines:
        if function := _PYTHON.match(line):
            inside = function[1]
        elif inside and line and not line.startswith(" "):
            found = f"{line.partition(':')[0]} in {inside}"
            inside = ""
    return found


def _find_node(lines: Sequence[str]) -> str:
    for at, line in enumerate(lines[:-1]):
        error, function = _ERROR.match(line), _NODE.match(lines[at + 1])
        if error and function:
            return f"{error[1]} in {function[1]}"
    return ""


def _first(lines: Sequence[str], holds: Callable[[str], bool]) -> int | None:
    return next((at for at, line in enumerate(lines) if holds(line)), None)
