"""Observations and accept sets as sentences for people."""

import re
from collections.abc import Iterable, Sequence

from wireproof_spec.clauses.observations import ENDINGS, LITERAL, SHARED_WORDS, load_observations
from wireproof_spec.wording import count_bytes

_BINARY = re.compile(r"\bbinary-(\d+)$")
"""How an observation names the length of an answer that is no text."""
_BEFORE = {
    "response": "response",
    "http": "HTTP",
    "same": "the same answer to both:",
}
_ANY = {"delivered": "delivered", "http": "any HTTP status"}


def spoken(observation: str, of: str = "") -> str:
    """Return an observation or accepted pattern in words; ``of`` is a case id or a protocol."""
    first, *after = observation.split(",")
    words = [_spoken_word(first, of)]
    for number, word in enumerate(after):
        if number == 0 and first.startswith("http:") and word not in ENDINGS:
            words.append(_sentence(word, of) or _error_name(word, of))
        else:
            words.append(ENDINGS[word] if word in ENDINGS else _spoken_word(word, of))
    return ", ".join(word for word in words if word)


def spoken_patterns(patterns: Iterable[str], of: str = "") -> tuple[str, ...]:
    """Return accepted patterns in words; patterns with the same answer are merged into one."""
    endings: dict[str, list[str]] = {}
    for pattern in patterns:
        answer, comma, last = pattern.rpartition(",")
        if comma and last in ("open", "closed", "*"):
            endings.setdefault(answer, []).append(last)
        else:
            endings.setdefault(pattern, []).append("*")
    return tuple(_spoken_ending(answer, afters, of) for answer, afters in endings.items())


def _spoken_ending(answer: str, afters: Sequence[str], of: str) -> str:
    if "*" in afters:
        return spoken(answer, of)
    return f"{spoken(answer, of)}, connection {' or '.join(dict.fromkeys(afters))}"


def _error_name(word: str, of: str) -> str:
    return (
        word
        if word.replace("_", "").isalnum() and word not in SHARED_WORDS
        else _spoken_word(word, of)
    )


def _spoken_word(word: str, of: str) -> str:
    sentence = _sentence(word, of)
    if sentence is not None:
        return sentence
    word = _BINARY.sub(lambda found: f"of {count_bytes(int(found[1]))} that are no text", word)
    kind, _, detail = word.partition(":")
    if not detail:
        return word.replace("-", " ")
    if detail == "*":
        return _sentence(f"{kind}:any", of) or _ANY.get(kind, f"any {kind}")
    if kind == "same":
        return f"{_BEFORE[kind]} {_spoken_word(detail, of)}"
    if kind == "http":
        return f"HTTP {detail.replace('*', 'xx')}"
    shown = detail if kind in LITERAL else detail.replace("-", " ").replace("+", " and ")
    return f"{_BEFORE.get(kind, kind)} {shown}"


def _sentence(word: str, of: str) -> str | None:
    """Return the sentence of a word, from its protocol or from the shared ones."""
    protocol = of.partition("/")[0]
    own = load_observations(protocol).sentence(word, of) if protocol else None
    return own or SHARED_WORDS.get(word)
