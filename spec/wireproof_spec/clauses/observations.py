"""The meaning of the words in observations, one table per protocol, read from TOML."""

import functools
import tomllib
from collections.abc import Mapping

from msgspec import Struct, convert, field

from wireproof_spec.protocol import UnknownProtocol, find_protocol


class Observations(Struct, frozen=True, rename={"within": "in"}):
    """Sentences that explain the words of a protocol's observations to readers of a report.

    ``words`` maps each word to its sentence; ``within`` has those for some cases, by case prefix.
    """

    words: Mapping[str, str] = field(default_factory=dict[str, str])
    within: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])

    def sentence(self, word: str, case: str = "") -> str | None:
        """Return the sentence that explains a word of an observation, or None if there is none."""
        prefixes = [prefix for prefix in self.within if _is_below(case, prefix)]
        tables = [self.within[each] for each in sorted(prefixes, key=len, reverse=True)]
        found = (_find(table, word) for table in (*tables, self.words))
        return next((sentence for sentence in found if sentence is not None), None)


@functools.cache
def load_observations(protocol: str) -> Observations:
    """Read the sentences that explain a protocol's observations; empty if it has no such file."""
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
