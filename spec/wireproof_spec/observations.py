"""What the words of an observation mean: one table for each protocol, read from its TOML file."""

import functools
import tomllib
from collections.abc import Mapping

from msgspec import Struct, convert, field

from wireproof_spec.protocol import UnknownProtocol, find_protocol

GENERAL = {
    "died": "the target no longer accepts connections",
    "withheld": "the target kept the case waiting until it was given up",
}
"""Sentences of words that the engine observes, whatever the protocol."""


class Observations(Struct, frozen=True, rename={"within": "in"}):
    """The sentences of one protocol; ``within`` holds those of some cases, by case prefix."""

    words: Mapping[str, str] = field(default_factory=dict[str, str])
    within: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])

    def sentence(self, word: str, case: str = "") -> str | None:
        """Return the sentence of one word of an observation, or None if it has none."""
        prefixes = [prefix for prefix in self.within if _is_below(case, prefix)]
        tables = [self.within[each] for each in sorted(prefixes, key=len, reverse=True)]
        found = (_find(table, word) for table in (*tables, self.words))
        return next((each for each in found if each is not None), GENERAL.get(word))


@functools.cache
def load_observations(protocol: str) -> Observations:
    """Read the sentences of a protocol; there are none if it has no file of them."""
    try:
        file = find_protocol(protocol).folder() / "observations.toml"
        text = file.read_text(encoding="utf-8")
    except (UnknownProtocol, FileNotFoundError):
        return Observations()
    return convert(tomllib.loads(text), Observations)


def _find(table: Mapping[str, str], word: str) -> str | None:
    if word in table and not word.endswith(":*"):
        return table[word]
    kind, colon, detail = word.partition(":")
    sentence = table.get(f"{kind}:*") if colon and detail != "*" else None
    return sentence and sentence.replace("{}", detail.replace("-", " "))


def _is_below(case: str, prefix: str) -> bool:
    return case.startswith(prefix)
