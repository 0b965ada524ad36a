"""The core of the fuzzer knows schemas, and no protocol."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from check_each import check_each
from fuzz_grammars import GRAMMARS, frames

from wireproof_kit import fuzz
from wireproof_kit.fuzz.generate.edits import FieldIndex
from wireproof_kit.fuzz.generate.mutations import choices
from wireproof_kit.protocols import known_protocols
from wireproof_spec.iggy import commands
from wireproof_spec.nsq import error_codes, names

CORE = sorted(Path(str(fuzz.__file__)).parent.rglob("*.py"))
WORD = re.compile(r"[A-Za-z_]+")
SPOKEN = {
    *("topic", "channel", "partition", "ephemeral", "stream_id", "consumer", "offset", "nsqd"),
    *known_protocols(),
}
"""What protocols speak of in fields, paths and queries."""


def shouted(module: object) -> set[str]:
    """Return the words in capitals that a module of a specification has as constants."""
    values = [value for name, value in vars(module).items() if name.isupper()]
    texts = [each.decode("latin-1") if isinstance(each, bytes) else each for each in values]
    words = {word for text in texts if isinstance(text, str) for word in WORD.findall(text)}
    return {word for word in words if word.isupper() and len(word) > 1}


IGGY = {name.lower() for name in vars(commands) if name.isupper() and "_" in name}
WORDS = (SPOKEN | IGGY | shouted(names) | shouted(error_codes)) - {"OK"}


def constants(path: Path) -> Iterator[tuple[int, str]]:
    """Yield a module's texts and bytes with their lines, docstrings left out."""
    tree = ast.parse(path.read_text())
    told = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
    for each in ast.walk(tree):
        if isinstance(each, ast.Constant) and id(each) not in told:
            if isinstance(each.value, bytes):
                yield each.lineno, each.value.decode("latin-1")
            elif isinstance(each.value, str):
                yield each.lineno, each.value


def imported(path: Path) -> Iterator[str]:
    for each in ast.walk(ast.parse(path.read_text())):
        if isinstance(each, ast.ImportFrom):
            yield each.module or ""
        elif isinstance(each, ast.Import):
            yield from (name.name for name in each.names)


def test_the_words_that_are_looked_for_are_those_of_protocols() -> None:
    assert {"NOP", "PUB_EXT", "IDENTIFY", "E_BAD_TOPIC", "poll_messages"} <= WORDS


@check_each(CORE)
def test_the_core_says_no_word_of_any_protocol(path: Path) -> None:
    found = [
        f"{path.name}:{line}: {word}"
        for line, text in constants(path)
        for word in WORD.findall(text)
        if word in WORDS
    ]

    assert not found


@check_each(CORE)
def test_the_core_imports_no_protocol(path: Path) -> None:
    parts = {part for name in imported(path) for part in name.split(".")}

    assert not parts & set(known_protocols())


@pytest.mark.slow
@pytest.mark.parametrize("protocol", GRAMMARS)
def test_each_trap_of_a_protocol_is_set(protocol: str) -> None:
    grammar = GRAMMARS[protocol]
    there = {
        entry.mutation.name
        for kind in grammar.kinds
        for frame in frames(kind)
        for entry in choices(FieldIndex(frame), grammar.limits, grammar.traps)
    }
    without = {
        entry.mutation.name
        for kind in grammar.kinds
        for frame in frames(kind)
        for entry in choices(FieldIndex(frame), grammar.limits)
    }

    own = {name for traps in grammar.traps.values() for name in traps}
    assert own
    assert own <= there - without
