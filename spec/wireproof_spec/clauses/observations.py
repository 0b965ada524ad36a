"""The meaning of the words in observations, one table per protocol, read from TOML."""

import functools
from collections.abc import Mapping

from msgspec import Struct, field

from wireproof_spec.clauses.loading import read_toml
from wireproof_spec.protocol import UnknownProtocol, find_protocol

SHARED_WORDS = {
    "ok": "OK",
    "conforms": "every message that came keeps the clause",
    "deviates": "a message that came breaks the clause",
    "closed": "the connection closed without an answer",
    "silence": "no answer",
    "died": "the target died",
    "withheld": "the target kept the case waiting until it was given up",
    "inconclusive": "undecided",
    "kit-error": "an error of the kit",
    "nonsense": "something that is no frame",
    "*": "anything",
}
"""Words of observations that mean the same in every protocol."""
ENDINGS = {
    "open": "connection open",
    "closed": "connection closed",
    "broken": "a later command got a wrong answer",
    "stuck": "no answer after it",
    "nonsense": "then an answer that is no frame",
    "others-open": "other connections unharmed",
    "others-closed": "other connections closed",
    "others-stuck": "no answer on another connection",
    "others-broken": "a later command on another connection got a wrong answer",
    "others-nonsense": "an answer that is no frame on another connection",
    "*": "",
}
"""What the last words of an observation say of the connections after the answer."""
ANY = "any"
"""In ``KIND:any``: what the pattern ``KIND:*`` means."""
LITERAL = ("error", "response", "http", "same")
"""Kinds whose detail is a name or a number of the wire, not words of ours."""


class Observations(Struct, frozen=True, forbid_unknown_fields=True, rename={"within": "in"}):
    """Sentences that explain the words of a protocol's observations to readers of a report.

    ``words`` maps each word to its sentence; ``within`` has those for some cases, by case prefix.
    """

    words: Mapping[str, str] = field(default_factory=dict[str, str])
    within: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])

    def sentence(self, word: str, case: str = "") -> str | None:
        """Return the sentence that explains a word of an observation, or None if there is none."""
        prefixes = [prefix for prefix in self.within if _is_below(case, prefix)]
        tables = [self.within[prefix] for prefix in sorted(prefixes, key=len, reverse=True)]
        found = (_find(table, word) for table in (*tables, self.words))
        return next((sentence for sentence in found if sentence is not None), None)


@functools.cache
def load_observations(protocol: str) -> Observations:
    """Read the sentences that explain a protocol's observations; empty if it has no such file.

    Raises:
        CatalogueFault: the file is no table of words and sentences.
    """
    try:
        file = find_protocol(protocol).folder() / "observations.toml"
        text = file.read_text(encoding="utf-8")
    except (UnknownProtocol, FileNotFoundError):
        return Observations()
    return read_toml(text, str(file), Observations)


def _find(table: Mapping[str, str], word: str) -> str | None:
    if word in table and not word.endswith(":*"):
        return table[word]
    kind, colon, detail = word.partition(":")
    if not colon or detail in ("*", ANY):
        return None  # a sentence filled with `any` would have no end
    head, _, rest = detail.partition("-")
    for key, shown in ((f"{kind}:{head}-*", rest), (f"{kind}:*", detail)):
        if shown and key in table:
            told = shown.replace("-", " ").replace("+", " and ").replace("*", "anything")
            return table[key].replace("{}", told)
    return None


def _is_below(case: str, prefix: str) -> bool:
    return case.startswith(prefix)
