"""Finds words in accept sets that no observation has: a typing error would fail a right server.

A protocol lists the words of its observations with their sentences. So a word of an accept set
that is not listed, nor one of every protocol, is a mistake.
"""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from wireproof_spec.clauses.catalogue import Law, matches
from wireproof_spec.clauses.loading import load_catalogue, read_texts
from wireproof_spec.clauses.observations import (
    ENDINGS,
    LITERAL,
    SHARED_WORDS,
    Observations,
    load_observations,
)
from wireproof_spec.protocol import find_protocol


def list_unlisted(protocol: str) -> Iterator[str]:
    """Yield a sentence, with file and line, for each word of an accept set that is not listed.

    Nothing is checked if the protocol lists no words.

    Raises:
        CatalogueFault: the catalogue or the list of words is wrong.
    """
    listed = load_observations(protocol)
    if not (listed.words or listed.within):
        return
    texts = dict(read_texts(find_protocol(protocol).folder() / "catalogue"))
    for clause in load_catalogue(protocol).clauses():
        for law in clause.case:
            known = _list_known(listed, law.id)
            for pattern in _list_patterns(law):
                for word in _split(pattern):
                    if not _can_match(word, known):
                        yield _describe(word, known, law, _find_place(texts, law, pattern))


def _describe(word: str, known: list[str], law: Law, place: str) -> str:
    near = get_close_matches(word, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else "add it there with a sentence"
    return (
        f"{place}: case {law.id} accepts {word!r}, which observations.toml does not list; {hint}"
    )


def _list_known(listed: Observations, case_id: str) -> list[str]:
    tables = [each for prefix, each in listed.within.items() if case_id.startswith(prefix)]
    return [word for table in (*tables, listed.words, SHARED_WORDS, ENDINGS) for word in table]


def _list_patterns(law: Law) -> Iterator[str]:
    yield from law.accept
    yield from law.undecided
    for options in law.reading.values():
        for patterns in options.values():
            yield from patterns


def _split(pattern: str) -> list[str]:
    """Return the words of a pattern but a server's own name for an HTTP error."""
    first, *after = pattern.split(",")
    named = after[1:] if first.startswith("http:") and "-" not in "".join(after[:1]) else after
    return [first, *named]


def _can_match(word: str, known: list[str]) -> bool:
    """Return True if an observation can have the word; a kind with any detail fits by its kind."""
    kind, colon, _ = word.partition(":")
    if word in known or (colon and (kind in LITERAL or f"{kind}:*" in known)):
        return True
    if "*" not in word:
        return False
    of_kind = colon and any(each.partition(":")[0] == kind for each in known)
    return bool(of_kind) or any(matches(each, [word]) for each in known)


def _find_place(texts: Mapping[str, str], law: Law, pattern: str) -> str:
    """Return ``FILE, line N`` of a pattern of a case."""
    for name, text in texts.items():
        lines = text.splitlines()
        ids = (at for at, line in enumerate(lines) if line.strip() == f'id = "{law.id}"')
        for start in ids:
            rest = range(start, len(lines))
            at = next((at for at in rest if f'"{pattern}"' in lines[at]), start)
            return f"{name}, line {at + 1}"
    return "the catalogue"
